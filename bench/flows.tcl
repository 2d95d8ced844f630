# The workloads of crates/bench in ns-2.35, to be timed beside midflight's.
#
#   ns flows.tcl bottleneck 10 60     ten flows through 100 Mbit/s, 60 s
#   ns flows.tcl handoff 1 30         one flow from 6400 kbit/s, 9 ms to 200 kbit/s, 300 ms at 8.2 s, 30 s
#
# Prints how many segments were sent and how many microseconds that took, from the first event to the last.
# Nothing is traced.

lassign $argv scenario flows seconds

source [file join [file dirname [info script]] .. tests ns2 settings.tcl]

set ns [new Simulator]

proc join_nodes {a b rate delay limit} {
    global ns node
    foreach name [list $a $b] {
        if {![info exists node($name)]} { set node($name) [$ns node] }
    }
    $ns duplex-link $node($a) $node($b) $rate $delay DropTail
    $ns queue-limit $node($a) $node($b) $limit
    $ns queue-limit $node($b) $node($a) $limit
}
proc link_head {a b} {
    global ns node
    return [[$ns link $node($a) $node($b)] head]
}

proc build_bottleneck {} {
    join_nodes CN MN 100Mb 10ms 167
}

proc build_handoff {} {
    global ns
    join_nodes CN R 100Mb 2ms 10000
    foreach i {1 2} rate {6400kb 200kb} delay {9ms 300ms} limit {10 10} {
        join_nodes R BS$i 100Mb 2ms 10000
        join_nodes BS$i Wir$i $rate $delay $limit
        join_nodes Wir$i MN 100Mb 0ms 1000000000
    }
    $ns at 0.0 "use_path 1"
    $ns at 8.2 "use_path 2"
}
proc use_path {i} {
    global node
    $node(R) add-route [$node(MN) id] [link_head R BS$i]
    $node(MN) add-route [$node(CN) id] [link_head MN Wir$i]
}

$ns at 0.0 "set start \[clock microseconds\]"
build_$scenario
for {set i 0} {$i < $flows} {incr i} {
    set tcp($i) [new Agent/TCP/Sack1]
    set sink [new Agent/TCPSink/Sack1/DelAck]
    $ns attach-agent $node(CN) $tcp($i)
    $ns attach-agent $node(MN) $sink
    $ns connect $tcp($i) $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($i)
    $ns at [expr {0.001 * $i}] "$ftp start"
}
$ns at $seconds "set took \[expr {\[clock microseconds\] - \$start}\]; $ns halt"
$ns run

set sent 0
for {set i 0} {$i < $flows} {incr i} { incr sent [expr {[$tcp($i) set maxseq_] + 1}] }
puts "$sent $took"
