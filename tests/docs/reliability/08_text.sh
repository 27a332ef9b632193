section "Text to train on"
for i in {1..300}; do echo "line $i;"; done >text.txt
mkfifo pipe
train="shardline train --steps 1 --data"

row "timeout 20 $train pipe" "waited forever for a writer"
row "timeout 20 $train /dev/zero" "read until memory was full"
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 9\n' >corpus.txt
row "$train corpus.txt" "trained on the pointer's own text, or found it too short"
