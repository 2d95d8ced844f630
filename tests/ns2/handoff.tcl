# One TCP transfer over a vertical handoff, in ns-2.35: the laboratory against which midflight's `ns2`
# profile is checked.
#
#   ns handoff.tcl kind=mbb bw1=6400 d1=9 bw2=200 d2=300 at=8.2 out=row
#   ns handoff.tcl kind=bbm bw1=6400 d1=9 bw2=6400 d2=300 at=7.0 gap=0.5 out=trace
#
# kind     mbb (both routes switch at `at`) or bbm (the old link dies at `at`, the routes switch `gap` later)
# bw1, d1  the old access link, kbit/s and one-way ms; bw2, d2: the new one. Fractions are allowed.
# at       the handoff instant in seconds; gap: bbm only, in seconds
# packets  how many new segments end the run
# limit    seconds after `at` at which a run that does not finish is given up
# out      row: one CSV line with the columns of the grid, without the family name and with `gap` last
#          trace: every event as `t,event,value`
#
# Topology: CN -- R -- {BS1, BS2} -- {Wir1, Wir2} -- MN. tests/data/ns2/README.md tells the settings and what
# the columns mean.

# ---------------------------------------------------------------- arguments
array set want {kind mbb bw1 6400 d1 9 bw2 200 d2 300 at 8.2 gap 0.5 packets 100 limit 200 out row}
foreach word $argv {
    if {![regexp {^(\w+)=(.*)$} $word -> key value] || ![info exists want($key)]} {
        puts stderr "handoff.tcl: cannot use '$word'; give key=value, the key one of [lsort [array names want]]"
        exit 2
    }
    set want($key) $value
}
set bbm [expr {$want(kind) eq "bbm"}]
set trace_run [expr {$want(out) eq "trace"}]
set t_break $want(at)
set t_make [expr {$bbm ? $t_break + $want(gap) : $t_break}]

# ---------------------------------------------------------------- defaults of the sender and the receiver
source [file join [file dirname [info script]] settings.tcl]

# ---------------------------------------------------------------- network
# Everything ns-2 reports goes to one file, so that lines keep the order in which it did the things.
set ns [new Simulator]
set scratch /tmp/midflight-ns2.[pid]
set raw [open $scratch w]
fconfigure $raw -buffersize 1000000
$ns eventtrace-all $raw                  ;# timeouts; must precede the agents

foreach name {CN R BS1 BS2 Wir1 Wir2 MN} {
    set node($name) [$ns node]
    set name_of([$node($name) id]) $name
}

proc join_nodes {a b rate delay limit} {
    global ns node
    $ns duplex-link $node($a) $node($b) $rate $delay DropTail
    $ns queue-limit $node($a) $node($b) $limit
    $ns queue-limit $node($b) $node($a) $limit
}

# Whole packets in rate * round trip of the access link, rounded up, at least 5. In integers, so that a rounding
# error cannot push an exact product up.
proc access_limit {kbit ms} {
    set bits [expr {round($kbit * 1000.0) * 2 * round($ms * 1000.0)}]
    set packet [expr {12000 * 1000000}]
    set limit [expr {($bits + $packet - 1) / $packet}]
    return [expr {$limit < 5 ? 5 : $limit}]
}

join_nodes CN R 100Mb 2ms 10000
foreach i {1 2} {
    join_nodes R BS$i 100Mb 2ms 10000
    join_nodes BS$i Wir$i [expr {$want(bw$i) * 1000.0}] [expr {$want(d$i) / 1000.0}] \
        [access_limit $want(bw$i) $want(d$i)]
    join_nodes Wir$i MN 100Mb 0ms 1000000000
}

proc link {a b} {
    global ns node
    return [$ns link $node($a) $node($b)]
}
proc use_path {i} {
    global node
    $node(R) add-route [$node(MN) id] [[link R BS$i] head]
    $node(MN) add-route [$node(CN) id] [[link MN Wir$i] head]
}

# ---------------------------------------------------------------- the transfer
# The sender must be the first object that draws from ns-2's generator. It draws its clock phase (boot_time) twice and
# keeps tcpTick_ * U with U the second number of the default stream at the default seed 1: 5.5588071586372367e-3 s.
set tcp [new Agent/TCP/Sack1]
set sink [new Agent/TCPSink/Sack1/DelAck]
$ns attach-agent $node(CN) $tcp
$ns attach-agent $node(MN) $sink
$ns connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp

# ---------------------------------------------------------------- what is recorded
# A link has four trace objects: enq, deq, drp, rcv. The ones not wanted stay detached; a row run attaches most of
# the others only at the break, to save time.
set at_break_only {}
proc record {a b wanted {since break}} {
    global ns node raw at_break_only trace_run
    $ns trace-queue $node($a) $node($b) $raw
    foreach one {enq deq drp rcv} {
        set object [[link $a $b] set ${one}T_]
        if {$one ni $wanted} {
            $object detach
        } elseif {$since eq "break" && !$trace_run} {
            $object detach
            lappend at_break_only $object
        }
    }
}
record CN R {enq drp}
record R CN {rcv drp}
foreach i {1 2} {
    record BS$i Wir$i drp
    record Wir$i BS$i drp
    record Wir$i MN {rcv drp} start
    record MN Wir$i {enq drp}
}
$tcp attach $raw
$tcp trace backoff_
if {$trace_run} {
    $tcp trace cwnd_
    $tcp trace ssthresh_
}

# Break: an error model of rate 1 at the head of a link takes every packet that enters it.
set dead {}
if {$bbm} {
    foreach {a b} {Wir1 MN MN Wir1} {
        set model [new ErrorModel]
        $model unit pkt
        $model set rate_ 0
        set drops [$ns create-trace Drop $raw $node($a) $node($b)]
        $drops target [$ns set nullAgent_]
        $model drop-target $drops
        $ns lossmodel $model $node($a) $node($b)
        lappend dead $model
    }
}

# ---------------------------------------------------------------- the run
proc at_break {} {
    global tcp state at_break_only dead bbm raw
    foreach v {cwnd_ ssthresh_ ack_ maxseq_ dupacks_ backoff_ srtt_ rttvar_} { set state($v) [$tcp set $v] }
    foreach object $at_break_only { $object attach $raw }
    foreach model $dead { $model set rate_ 1 }
    if {!$bbm} { at_make }
}
proc at_make {} {
    global tcp state want
    set state(maxseq_make) [$tcp set maxseq_]
    set state(goal) [expr {$state(maxseq_make) + $want(packets)}]
    use_path 2
}
# The first look is at the make, then every 20 ms: counts run to at most 20 ms past the end.
proc poll {} {
    global ns tcp state want
    if {[$tcp set ack_] >= $state(goal) || [$ns now] >= $want(at) + $want(limit)} {
        $ns halt
    } else {
        $ns at [expr {[$ns now] + 0.02}] poll
    }
}

# Scheduled before anything else, so each of these runs before the packet events of the same instant.
$ns at 0.0 "use_path 1"
$ns at $t_break at_break
if {$bbm} { $ns at $t_make at_make }
$ns at $t_make poll
$ns at 0.0 "$ftp start"
$ns run
close $raw

# ---------------------------------------------------------------- from lines to events
# Calls the consumer with time, event, value, packet number and place for each line. Packet numbers grow in the
# order of sending.
proc each_event {file consumer} {
    global name_of state trace_run
    set in [open $file r]
    set highest [expr {$trace_run ? 0 : $state(maxseq_)}]
    while {[gets $in line] >= 0} {
        lassign $line kind time from to type size flags fid src dst seq uid
        switch -- $kind {
            + {
                if {$type eq "ack"} {
                    $consumer $time ackMN $seq $uid $name_of($from)
                } elseif {$seq > $highest} {
                    set highest $seq
                    $consumer $time send $seq $uid CN
                } else {
                    $consumer $time rexmit $seq $uid CN
                }
            }
            r { $consumer $time [expr {$type eq "ack" ? "ack" : "rcvMN"}] $seq $uid $name_of($from) }
            d {
                $consumer $time drop_$type $seq $uid \
                    [string map {BS B Wir W} $name_of($from)$name_of($to)]
            }
            E { if {[lindex $line 5] eq "TIMEOUT"} { $consumer $time timeout "" "" CN } }
            default { $consumer $kind [string trimright [lindex $line 5] _] [lindex $line 6] "" CN }
        }
    }
    close $in
}

# ---------------------------------------------------------------- out=trace
# Up to the ACK that ends the run, with what it releases in the same instant.
set events {}
set ended ""
proc keep_event {time event value uid place} {
    global events ended state
    if {$ended ne "" && $time > $ended + 0.000005} { return }
    if {$event in {ackMN timeout} || ($event eq "rexmit" && $value == 0 && $time == 0)} { return }
    if {[string match drop_* $event]} { append event _$place }
    lappend events [list [format %.6f $time] $event $value]
    if {$event eq "ack" && $ended eq "" && $value >= $state(goal)} { set ended $time }
}

# ---------------------------------------------------------------- out=row
proc reached {name time} {
    global done want
    if {$done($name) eq ""} { set done($name) [format %.6f [expr {$time - $want(at)}]] }
}
proc measure {time event value uid place} {
    global want goal done count seen over_new_path advances trigger timeouts
    if {$time < $want(at)} {
        if {$event eq "rcvMN"} { set trigger(last) $uid }
        return
    }
    switch -- $event {
        rcvMN {
            # What arrived before the break is not remembered.
            if {![info exists seen($value)]} {
                set seen($value) 1
                if {$place eq "Wir2"} { lappend over_new_path $value }
            }
            set trigger(last) $uid
        }
        ackMN { set trigger($uid) $trigger(last) }
        drop_tcp { incr count(drops_data); incr count(drops_all) }
        drop_ack { incr count(drops_all) }
        timeout { set count(timeout) $time }
        backoff {
            # A timeout that doubles the backoff; at its limit of 64 it does not, and is not counted.
            if {$value > $count(backoff)} { lappend timeouts [list $count(timeout)] }
            set count(backoff) $value
        }
        rexmit {
            incr count(rexmits)
            # The first one after a timeout is the segment that timed out.
            if {[llength [lindex $timeouts end]] == 1} { lset timeouts end [list $time $value $uid] }
        }
        ack {
            foreach name {t_new100 t_new100_make t_ack100} {
                if {$value >= $goal($name)} { reached $name $time }
            }
            if {$value > $count(acked)} {
                set count(acked) $value
                lappend advances $time $value
            }
            # Spurious: the first ACK that covers the segment was caused by a packet sent before the timeout.
            for {set i 0} {$i < [llength $timeouts]} {incr i} {
                lassign [lindex $timeouts $i] when segment first_uid mark
                if {$mark eq "" && $value >= $segment} {
                    lset timeouts $i [list $when $segment $first_uid \
                        [expr {$trigger($uid) < $first_uid ? "s" : "needed"}]]
                }
            }
        }
    }
}

# The timer in seconds, with backoff, from the sender's integer estimates. Past a backoff of 8 ns-2 has thrown them
# away but still runs on the old value, which cannot be read: then the field stays empty.
proc timer_at_break {} {
    global state
    if {$state(srtt_) == 0 && $state(backoff_) > 8} { return "" }
    set base 6.0
    if {$state(srtt_) != 0} {
        set base [expr {(((int($state(rttvar_)) << 3) + int($state(srtt_))) >> 3) * 0.01}]
        if {$base < 0.2} { set base 0.2 }
    }
    set full [expr {$base * $state(backoff_)}]
    return [format %.2f [expr {$full > 60 ? 60.0 : $full}]]
}

proc print_row {} {
    global want state done count goal timeouts over_new_path advances trigger scratch
    array set done {t_new100 {} t_new100_make {} t_ack100 {} t_newpath100 {}}
    set goal(t_new100) [expr {$state(maxseq_) + $want(packets)}]
    set goal(t_new100_make) $state(goal)
    set goal(t_ack100) [expr {$state(ack_) + $want(packets)}]
    array set count [list rexmits 0 drops_data 0 drops_all 0 acked -2 backoff $state(backoff_)]
    set over_new_path {}
    set advances {}
    set timeouts {}
    set trigger(last) -1
    each_event $scratch measure

    # The segments that came first over the new path, smallest number first: when is the last one that is asked
    # for acknowledged?
    if {[llength $over_new_path] >= $want(packets)} {
        set last [lindex [lsort -integer $over_new_path] $want(packets)-1]
        foreach {time value} $advances {
            if {$value >= $last} { reached t_newpath100 $time }
        }
    }

    set spurious 0
    set times {}
    set first ""
    foreach one $timeouts {
        lassign $one time segment first_uid mark
        if {$mark eq "s"} { incr spurious } else { set mark "" }
        if {$first eq ""} { set first [format %.6f [expr {$time - $want(at)}]] }
        lappend times [format %.6f $time]$mark
    }
    puts [join [list $want(kind) $want(bw1) $want(d1) $want(bw2) $want(d2) $want(at) \
        $done(t_new100) $done(t_new100_make) $done(t_ack100) $done(t_newpath100) \
        [llength $timeouts] $spurious $first $count(drops_data) $count(drops_all) $count(rexmits) \
        [format %.3f $state(cwnd_)] $state(ssthresh_) [expr {$state(maxseq_) - $state(ack_)}] \
        [timer_at_break] $state(ack_) $state(maxseq_) \
        [expr {$state(maxseq_make) - $state(maxseq_)}] $state(dupacks_) $state(backoff_) \
        [join $times " "] $want(gap)] ,]
}

if {$trace_run} {
    each_event $scratch keep_event
    puts "t,event,value"
    foreach event [lsort -real -index 0 $events] { puts [join $event ,] }
} else {
    print_row
}
file delete $scratch
