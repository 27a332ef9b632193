section "Numbers that are not finite"
for i in {1..300}; do echo "line $i;"; done >text.txt
small="--data text.txt --batch 1 --seq 16 --threads 1"
shardline train $small --steps 1 --save model >/dev/null 2>&1
cp -r model before

row "shardline train $small --steps 1 --lr 1e10 --save model" \
  "printed \`held-out loss -nan\`, put NaN in place of the saved weights and ended with 0" 'held-out loss .*'
row "shardline train $small --steps 1 --lr 1e39 --save model" \
  "the same" 'after step 1: .*'
row "shardline train $small --steps 3 --lr 1e10 --save model --json r.json" \
  "every rank ended the job with a failed check and a place in our sources" 'step 2: .*'
checked "a run that diverges leaves old files as they were" diff -r before model
checked "a run that diverges writes no record" test ! -e r.json

# The first element of the file is of the embedding, the last 192 are a row of the output projection.
weights=model/model.safetensors
first=$((8 + $(od -An -tu8 -N8 $weights)))
put() { dd of=$weights bs=1 seek="$1" conv=notrunc status=none; }
printf '\xff\xff\xff\x7f' | put $first
row "shardline sample --load model --prompt 'int main'" "printed NUL bytes and ended with 0"
row "shardline train $small --steps 1 --load model" "the same, about the loss of the first step"
printf '\x00\x00\x80\x7f' | put $first
row "shardline sample --load model --prompt 'int main'" "printed NUL bytes and ended with 0"
cp before/model.safetensors $weights
for i in {1..192}; do printf '\xff\xff\x7f\x7f'; done | put $(($(stat -c %s $weights) - 4 * 192))
row "shardline sample --load model --prompt 'int main' --threads 1" \
  "went on with sums that are not numbers, and ended with 0" 'the logits after .*'
