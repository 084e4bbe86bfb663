yes > full
yes > /tmp/full
yes > /dev/shm/full
yes > ~/full
