# An output that is one of the inputs, under any name.
section "Inputs are never overwritten"
printf 'the text\n' >c.txt
ln -s c.txt link.txt
ln c.txt hard.txt
cp c.txt kept.txt
mkdir model
printf '{}\n' | tee model/config.json config.json >machine.json
product='"A[I, J_X] * B[J_X, K] -> C[I, K]" --size I=8,J=8,K=8'
row "shardline train --data c.txt --json c.txt" "the record replaced the text"
row "shardline train --data c.txt --report ./link.txt" "the page replaced the text"
row "shardline train --data hard.txt --trace c.txt" "the trace replaced one of the two names of the text"
row "shardline train --model config.json --json config.json" "the record replaced the model's configuration"
row "shardline matmul $product --machine machine.json --json machine.json" "the record replaced the machine file"
row "shardline sample --load model --prompt x --json model/config.json" "the model could not be loaded again"
row "shardline train --load model --save model" "the run's own starting weights were lost"
row "shardline train --data t.rank0.part --trace t" "the text was deleted, because it had the name of a part of an earlier trace"
checked "the text is as it was" cmp c.txt kept.txt
checked "the machine is as it was" grep -qx '{}' machine.json
checked "the model is as it was" grep -qx '{}' model/config.json
