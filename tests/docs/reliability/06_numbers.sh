# Commands read exactly the typed numbers.
section "Numbers and names"
printf 'a text of one line, which is long enough to train on and to hold out a tenth of it\n%.0s' {1..9} >'[x]'
product='"A[I, J_X] * B[J_X, K] -> C[I, K]" --mesh X=4 --size I=8,J=8,K=8'
row "shardline plan --model llama3-8b --chips 0100" "read an octal number: a plan for 64 chips" 'on [0-9]+ chips'
row "shardline plan --model llama3-8b --chips 08" "refused, because 08 is not an octal number" 'on [0-9]+ chips'
row "shardline plan --model llama3-8b --chips 0x40" "taken as 64"
row "shardline bench all_gather --seconds 1e308" "ran forever"
row "shardline train --lr 0x1p-9" "taken as 0.001953125"
row "shardline train --steps=" "the next argument was taken as the number"
row "shardline train --data '[x]' --steps 1 --batch 1 --seq 8" \
  "\`x: no such file\`: the name was taken as a list of names" 'step +1  loss'
row "shardline explain $product --json - 2>text | grep -c schema" "a file called \`-\` was written" '^1$'
checked "the text for people went to standard error" grep -q "T_math" text
row 'shardline explain "A[I_X, J] -> A[I, J]" --size I=8,J=8 --mesh X=99999999999' "ended with \`std::bad_alloc\`"
row 'shardline explain "A[I_X, J] * B[J, K] -> C[I, K]" --mesh X=2,Y=2,Z=2,W=2,V=2,U=2 --size I=64,J=64,K=64' \
  "searched for minutes without any output"
