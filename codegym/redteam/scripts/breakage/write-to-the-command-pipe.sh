for n in $(seq 3 20); do
    for text in 'S x 3\nend' 'E x 99999999\n' '\377\377\377'; do
        timeout 1 sh -c "printf '$text' > /proc/1/fd/$n"
    done
done 2>/dev/null
(sleep 0.2; timeout 1 cat /proc/1/fd/* >/dev/null 2>&1) &
sleep 0.1
