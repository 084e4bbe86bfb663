trap '' TERM INT HUP
while :; do sleep 1000; done
