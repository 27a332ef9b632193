section "Text to train on"
for i in {1..300}; do echo "line $i;"; done >text.txt
mkfifo pipe
train="shardline train --steps 1 --data"

row "timeout 20 $train pipe" "waited forever for a writer"
row "timeout 20 $train /dev/zero" "read until memory was full"
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 9\n' >corpus.txt
row "$train corpus.txt" "trained on the pointer's own text, or found it too short"
head -c 4000 /dev/zero >tokens.bin
printf '{"model_type": "llama", "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 300}' >config.json
shardline train --model config.json --data tokens.bin --batch 1 --seq 16 --threads 1 --steps 1 --save model >/dev/null 2>&1
row "shardline sample --load model --prompt int --tokens 1 --threads 1" "took the bytes of the prompt for ids of tokens, and ids for bytes"
