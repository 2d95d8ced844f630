# One TCP transfer over one access link that loses and delays scripted packets, in ns-2.35.
#
#   ns impaired.tcl rate=1000 delay=200 window=30 frto=2 response=1 end=6.5 script="40:lose 52:0.137"
#
# rate, delay  the access link, kbit/s and one-way ms, queue limit 50 in both directions
# window       the sender's window_, packets
# frto         0: off; 1: frto_enabled_; 2: sfrto_enabled_
# response     spurious_response_
# agent        the sender: Sack1, Newreno, Reno or Tahoe; all but Sack1 have a sink without SACK
# delack       1: the sink delays ACKs
# limited      singledup_ (limited transmit)
# changes1     newreno_changes1_
# deflation    partial_window_deflation_
# end          the run stops here; what would happen at this very instant does not
# script       what befalls the packets that reach the far end of the access link, after queue, transmission
#              and propagation: `n:lose` or `n:seconds` (delivered that much later), n from 1, the SYN counts
# far=1        also prints every packet that reaches the far end, before anything befalls it
#
# Topology: S -- 20 Mbit/s, 1 ms, limit 10000 -- R -- access link -- MN. Prints `time,event,value`;
# tests/data/ns2/README.md tells what the events mean.

array set want {
    rate 1000 delay 200 window 10000 frto 0 response 1 end 10 script {} far 0
    agent Sack1 delack 0 limited 1 changes1 1 deflation 1
}
foreach word $argv {
    if {![regexp {^(\w+)=(.*)$} $word -> key value] || ![info exists want($key)]} {
        puts stderr "impaired.tcl: cannot use '$word'; keys are [lsort [array names want]]"
        exit 2
    }
    set want($key) $value
}
foreach one $want(script) {
    if {![regexp {^(\d+):(lose|[\d.]+)$} $one -> ordinal what]} {
        puts stderr "impaired.tcl: cannot use '$one' in the script"
        exit 2
    }
    set befalls($ordinal) $what
}

if {$want(agent) ni {Sack1 Newreno Reno Tahoe}} {
    puts stderr "impaired.tcl: there is no agent '$want(agent)'; there are Sack1, Newreno, Reno and Tahoe"
    exit 2
}

source [file join [file dirname [info script]] settings.tcl]
Agent/TCP set window_ $want(window)
Agent/TCP set singledup_ $want(limited)
Agent/TCP/Newreno set newreno_changes1_ $want(changes1)
Agent/TCP/Newreno set partial_window_deflation_ $want(deflation)
Agent/TCP set frto_enabled_ [expr {$want(frto) & 1}]
Agent/TCP set sfrto_enabled_ [expr {$want(frto) >> 1}]
Agent/TCP set spurious_response_ $want(response)

# ---------------------------------------------------------------- taps
# Everything goes to one file, so that lines keep the order in which ns-2 did the things. Its traces round the
# time, so a tap writes the exact one just before the trace of a packet. A tap is the one error model that asks
# Tcl about each packet: a result of 1 is an error. With `delay_pkt_` the packet is then delivered `delay_` later.
set ns [new Simulator]
set scratch /tmp/midflight-ns2-impaired.[pid]
set raw [open $scratch w]
fconfigure $raw -buffersize 1000000
$ns eventtrace-all $raw                  ;# timeouts; must precede the agents

ErrorModel/MultiState instproc init {} { $self next }
ErrorModel/MultiState instproc corrupt {} {
    global ns raw
    puts $raw "T [$ns now]"
    return 0
}
Class Script -superclass ErrorModel/MultiState
Script instproc corrupt {} {
    global ns raw befalls
    $self instvar count
    incr count
    if {![info exists befalls($count)]} {
        puts $raw "F [$ns now]"
        return 0
    }
    set lose [expr {$befalls($count) eq "lose"}]
    puts $raw "F [$ns now] [expr {$lose ? {lose} : {late}}]"
    $self set delay_pkt_ [expr {!$lose}]
    if {!$lose} { $self set delay_ $befalls($count) }
    return 1
}

# ---------------------------------------------------------------- network and transfer
foreach name {S R MN} {
    set node($name) [$ns node]
    set name_of([$node($name) id]) $name
}
proc join_nodes {a b rate delay limit} {
    global ns node
    $ns duplex-link $node($a) $node($b) $rate $delay DropTail
    $ns queue-limit $node($a) $node($b) $limit
    $ns queue-limit $node($b) $node($a) $limit
}
join_nodes S R 20Mb 1ms 10000
join_nodes R MN [expr {$want(rate) * 1000.0}] [expr {$want(delay) / 1000.0}] 50

# The sender must be the first object that draws from ns-2's generator (see handoff.tcl).
# Tahoe is the base class. Sack1 announces fast recovery, the others a fast retransmit.
set agent Agent/TCP[expr {$want(agent) eq "Tahoe" ? "" : "/$want(agent)"}]
set sink Agent/TCPSink[expr {$want(agent) eq "Sack1" ? "/Sack1" : ""}][expr {$want(delack) ? "/DelAck" : ""}]
set begins [expr {$want(agent) eq "Sack1" ? "FAST_RECOVERY" : "*FAST_RETX"}]
set tcp [new $agent]
set sink [new $sink]
$ns attach-agent $node(S) $tcp
$ns attach-agent $node(MN) $sink
$ns connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp

proc record {a b wanted} {
    global ns node raw
    $ns trace-queue $node($a) $node($b) $raw
    foreach one {enq deq drp rcv} {
        if {$one ni $wanted} { [[$ns link $node($a) $node($b)] set ${one}T_] detach }
    }
}
record S R {enq drp}
record R S {rcv drp}
record R MN drp
record MN R drp
$ns lossmodel [new ErrorModel/MultiState] $node(S) $node(R)
$ns link-lossmodel [new ErrorModel/MultiState] $node(S) $node(R)   ;# for the drops at R
$ns link-lossmodel [new ErrorModel/MultiState] $node(R) $node(S)

# At the far end: delay line, trace, script, node.
set script [new Script]
$script set count 0
$ns link-lossmodel $script $node(R) $node(MN)
$script drop-target [$ns set nullAgent_]
set reached [$ns create-trace Recv $raw $node(R) $node(MN)]
$reached target $script
[[$ns link $node(R) $node(MN)] set link_] target $reached

$tcp attach $raw
foreach variable {cwnd_ ssthresh_ backoff_} { $tcp trace $variable }

$ns at $want(end) "$ns halt"             ;# scheduled first, so before the packet events of this instant
$ns at 0.0 "$ftp start"
$ns run
close $raw

# ---------------------------------------------------------------- from lines to events
# Variables change while a packet of a tap is dealt with, or at a timeout, which sends a packet through a tap.
# Lines without an exact time take it from there.
set exact 0
set open_timeout 0
set waiting {}
proc event {rounded tolerance name value} {
    global exact open_timeout waiting
    if {$open_timeout} {
        lappend waiting $rounded $tolerance $name $value
    } elseif {abs($rounded - $exact) > $tolerance} {
        error "$name at $rounded is not at $exact"
    } else {
        puts [format %.9f,%s,%s $exact $name $value]
    }
}
proc at_exact {time} {
    global exact open_timeout waiting
    set exact $time
    set open_timeout 0
    foreach {rounded tolerance name value} $waiting { event $rounded $tolerance $name $value }
    set waiting {}
}

puts "time,event,value"
set in [open $scratch r]
set highest -1
set segment ""
while {[gets $in line] >= 0} {
    lassign $line kind time from to type size flags fid src dst seq uid
    switch -- $kind {
        T { at_exact $time }
        F {
            if {$open_timeout} { error "a timeout that sent nothing before $time" }
            set exact $time
            if {$want(far)} { event $time 0 far $segment }
            if {$from ne ""} { event $time 0 $from $segment }
        }
        + {
            event $time 6e-7 [expr {$seq > $highest ? "send" : "rexmit"}] $seq
            if {$seq > $highest} { set highest $seq }
        }
        r {
            if {$name_of($to) eq "MN"} { set segment $seq } else { event $time 6e-7 ack $seq }
        }
        d {
            if {$type eq "ack"} { error "an ACK was dropped at $time" }
            event $time 6e-7 drop $seq
        }
        E {
            set what [lindex $line 5]
            if {$what eq "TIMEOUT"} {
                set open_timeout 1
                event $time 6e-7 rto ""
            } elseif {[string match $begins $what]} {
                event $time 6e-7 recovery ""
            }
        }
        default { event $kind 6e-6 [string trimright [lindex $line 5] _] [lindex $line 6] }
    }
}
close $in
if {$open_timeout} { error "a timeout that sent nothing at the end" }
file delete $scratch
