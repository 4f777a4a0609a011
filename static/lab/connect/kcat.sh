# apt install kcat
echo "k1:hello" | kcat -P -b BOOTSTRAP -t orders -K : -X acks=all

kcat -q -b BOOTSTRAP -G mine -c 1 -f '%p %o %s\n' -X auto.offset.reset=earliest orders
