section "Files of weights"
for i in {1..300}; do echo "line $i;"; done >text.txt
shardline train --data text.txt --batch 1 --seq 16 --threads 1 --steps 1 --save model >/dev/null 2>&1
cp model/config.json config.json
sample="shardline sample --load model --prompt int --tokens 1 --threads 1"

sed 's/"num_hidden_layers": 4/"num_hidden_layers": 3/' config.json >model/config.json
row "$sample" "left the last layer out in silence"
sed 's/"tie_word_embeddings": false/"tie_word_embeddings": true/' config.json >model/config.json
row "$sample" "used the embedding in place of the stored \`lm_head\`"
cp config.json model/config.json

# Two tensors of one name each: a file of weights and one with biases, with an index.
names=$(head -c 9000 model/model.safetensors | grep -aoE '"(model|lm_head)[^"]*"')
mv model/model.safetensors model/a.safetensors
map() { printf '{"weight_map": {%s%s}}\n' "$(sed "s/\$/: \"a.safetensors\",/" <<<"$names")" "$1"; }
map '"x": "b.safetensors"' >model/model.safetensors.index.json
row "$sample" "refused weights in several files: \`model.safetensors: no such file\`"
header='{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
printf '\x36\0\0\0\0\0\0\0%s\0\0\0\0' "$header" >model/b.safetensors
row "$sample" "as above"
map '"../x": "../b.safetensors"' >model/model.safetensors.index.json
row "$sample" "as above"
header='{"model.layers.0.self_attn.q_proj.bias":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
printf '\x59\0\0\0\0\0\0\0%s\0\0\0\0' "$header" >model/b.safetensors
map '"model.layers.0.self_attn.q_proj.bias": "b.safetensors"' >model/model.safetensors.index.json
row "$sample" "as above; in one file biases were left out in silence"
map '' | sed 's/,}}$/}}/' >model/model.safetensors.index.json
row "$sample" "as above" '^int'

rm model/*.index.json
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 9\n' | tee lfs.json >model/model.safetensors
row "$sample" "\`not a safetensors file: its first 8 bytes give the header 2336927755350992246 bytes\`"
row "shardline plan --model lfs.json --chips 8" "\`not JSON\`"
