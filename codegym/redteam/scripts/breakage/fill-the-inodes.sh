mkdir many
cd many
python3 -c 'for n in range(10**6): open(str(n), "w").close()'
