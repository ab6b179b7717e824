#!/bin/sh
# The demonstration, as it runs inside the VM: a receiver on a soft RDMA device
# takes 200,000 messages, is retuned while they come in, and is torn down.
# Every command is shown before it runs. Started by `make demo`.
set -eu

count=200000
addr=10.9.0.1:7471

say() { printf '\n# %s\n' "$*"; }
run() {
	printf '$ %s\n' "$*"
	"$@"
}
# read_stats: messages and calls of ib_post_recv, in one reading.
read_stats() {
	json=$(rxctl -j -p stats r0)
	messages=$(number messages) calls=$(number post-calls)
}
number() { printf '%s\n' "$json" | sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p" | head -n 1; }
# posts CALLS MESSAGES: calls that a message cost.
posts() { awk "BEGIN { printf \"%.4f\", $1 / $2 }"; }

say "A soft RDMA device on a network device that leads nowhere"
run ip link add net0 type dummy
run ip addr add 10.9.0.1/24 dev net0
run ip link set net0 up
run rxctl link add rxe0 --type rxe --netdev net0

say "A receiver that posts its receives one by one, and checks each message"
run rxctl recv add r0 --addr $addr --depth 256 --batch 1 --batch-timeout 20ms --sink verify

say "A sender"
# The first fill of the queue is no message's cost: it is taken off below.
fill=256
printf '$ rxctl send %s --size 64 --count %s --batch 16 &\n' $addr $count
rxctl send $addr --size 64 --count $count --batch 16 --progress always &
sender=$!
read_stats
while [ "$messages" -lt $((count / 2)) ] && kill -0 $sender 2>/dev/null; do
	sleep 0.2
	read_stats
done
before=$(posts $((calls - fill)) "$messages")

say "While it sends: from one receive a call to sixteen"
run rxctl recv set r0 --batch 16
read_stats
m=$messages c=$calls
wait $sender
read_stats
after=$(posts $((calls - c)) $((messages - m)))

say "What happened"
run rxctl stats r0
printf 'posts per message: %s before, %s after (1/16 = 0.0625)\n' "$before" "$after"

[ "$(number verified)" = $count ] || { echo "demo: not all messages were verified" >&2; exit 1; }

say "Teardown: every receive is accounted for"
run rxctl recv del r0
run rxctl link del rxe0
