section "Numbers that are not finite"
for i in {1..300}; do echo "line $i;"; done >text.txt
small="--data text.txt --batch 1 --seq 16 --threads 1"
shardline train $small --steps 1 --save model >/dev/null 2>&1
cp -r model before

row "shardline train $small --steps 1 --lr 1e10 --save model" \
  "printed \`held-out loss -nan\`, replaced the saved weights with NaN and ended with 0" 'held-out loss .*'
row "shardline train $small --steps 1 --lr 1e39 --save model" \
  "the same" 'after step 1: .*'
row "shardline train $small --steps 1 --lr 1e36 --save model" \
  "sums inside a norm overflowed to zeros: \`held-out loss 5.5452\`, saved, ended with 0" 'held-out loss NaN.*'
row "shardline train $small --steps 3 --lr 1e10 --save model --json r.json" \
  "every rank ended the job with a failed check and a line of our sources" 'step 2: .*'
checked "a run that diverges leaves old files as they were" diff -r before model
checked "a run that diverges writes no record" test ! -e r.json

# The first element of the file belongs to the embedding, the last 192 to a row of the output projection.
for each in nan infinity overflow; do cp -r model $each; done
first=$((8 + $(od -An -tu8 -N8 model/model.safetensors)))
put() { dd of="$1/model.safetensors" bs=1 seek="$2" conv=notrunc status=none; }
printf '\xff\xff\xff\x7f' | put nan $first
row "shardline sample --load nan --prompt 'int main'" "printed NUL bytes and ended with 0"
row "shardline train $small --steps 1 --load nan" "ended the job at the loss of the first step, with a failed check" 'nan/model.safetensors: tensor [a-z_.]* holds NaN'
printf '\x00\x00\x80\x7f' | put infinity $first
row "shardline sample --load infinity --prompt 'int main'" "printed NUL bytes and ended with 0"
shardline train $small --steps 1 --dtype f64 --save wide >/dev/null 2>&1
printf '\x9c\x75\x00\x88\x3c\xe4\x37\x7e' | put wide $((8 + $(od -An -tu8 -N8 wide/model.safetensors)))
row "shardline sample --load wide --prompt 'int main' --dtype f32" "silently read an element of 1e300 as infinity"
for i in {1..192}; do printf '\xff\xff\x7f\x7f'; done |
  put overflow $(($(stat -c %s model/model.safetensors) - 4 * 192))
row "shardline sample --load overflow --prompt 'int main' --threads 1" \
  "continued with sums that are not finite, and ended with 0" 'sums overflow in f32.*'
