python3 - <<'X' &
x = []
while True:
    x.append(bytearray(1 << 24))
X
head -c 4G /dev/zero | tail &
sleep 3
