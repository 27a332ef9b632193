section "Files of weights"
for i in {1..300}; do echo "line $i;"; done >text.txt
shardline train --data text.txt --batch 1 --seq 16 --threads 1 --steps 1 --save model >/dev/null 2>&1
# sample FOLDER HAPPENED [PATTERN]: a row that samples from the folder.
sample() { row "shardline sample --load $1 --prompt int --tokens 1 --threads 1" "${@:2}"; }

for each in three-layers tied several; do cp -r model $each; done
sed -i 's/"num_hidden_layers": 4/"num_hidden_layers": 3/' three-layers/config.json
sample three-layers "silently left out the fourth layer of the file"
sed -i 's/"tie_word_embeddings": false/"tie_word_embeddings": true/' tied/config.json
sample tied "used the embedding instead of the stored \`lm_head\`"

# The weights of the model in one file, the additions of a row in another, and an index of both.
names=$(head -c 9000 model/model.safetensors | grep -aoE '"(model|lm_head)[^"]*"')
mv several/model.safetensors several/a.safetensors
index() { printf '{"weight_map": {%s%s}}\n' "$(sed "s/\$/: \"a.safetensors\",/" <<<"$names")" "$1"; }
index '' | sed 's/,}}$/}}/' >several/model.safetensors.index.json
sample several "refused weights in several files: \`model.safetensors: no such file\`" '^int'
for each in missing-file other-folder unknown bias; do cp -r several $each; done
index '"x": "b.safetensors"' | tee missing-file/model.safetensors.index.json >unknown/model.safetensors.index.json
sample missing-file "as above"
index '"x": "../b.safetensors"' >other-folder/model.safetensors.index.json
sample other-folder "as above"
header='{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
printf '\x36\0\0\0\0\0\0\0%s\0\0\0\0' "$header" >unknown/b.safetensors
sample unknown "silently left out, if a single file held it"
header='{"model.layers.0.self_attn.q_proj.bias":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
printf '\x59\0\0\0\0\0\0\0%s\0\0\0\0' "$header" >bias/b.safetensors
index '"model.layers.0.self_attn.q_proj.bias": "b.safetensors"' >bias/model.safetensors.index.json
sample bias "silently left out, if a single file held it"

cp -r model lfs
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 9\n' | tee lfs.json >lfs/model.safetensors
sample lfs "\`not a safetensors file: its first 8 bytes give the header 2336927755350992246 bytes\`"
row "shardline plan --model lfs.json --chips 8" "\`not JSON\`"
