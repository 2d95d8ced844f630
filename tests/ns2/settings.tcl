# Sender and receiver as midflight's `ns2` profile copies them.
# ns-2.35 changed some defaults of the 2005 release behind the first study; these are the older ones.
Agent/TCP set packetSize_ 1460          ;# with 40 B of headers: 1500 B on the wire
Agent/TCP set window_ 10000
Agent/TCP set windowInit_ 3
Agent/TCP set windowInitOption_ 1
Agent/TCP set syn_ true
Agent/TCP set delay_growth_ true        ;# the SYN goes with cwnd 1, its ACK sets the initial window
Agent/TCP set tcpTick_ 0.01
Agent/TCP set minrto_ 0.2
Agent/TCP set maxrto_ 60
Agent/TCP set rtxcur_init_ 6.0
Agent/TCP set timestamps_ false
Agent/TCP set precisionReduce_ false
Agent/TCP set singledup_ 1
Agent/TCP set bugFix_ true
Agent/TCP set ecn_ 0
Agent/TCPSink set packetSize_ 40
Agent/TCPSink set maxSackBlocks_ 3
Agent/TCPSink set RFC2581_immediate_ack_ true
Agent/TCPSink set SYN_immediate_ack_ false
Agent/TCP/Newreno set newreno_changes_ 0
Agent/TCP/Newreno set newreno_changes1_ 1
Agent/TCP/Newreno set partial_window_deflation_ 1
Agent/TCP/Newreno set exit_recovery_fix_ 0
Agent/TCPSink/DelAck set interval_ 100ms
Agent/TCPSink/Sack1/DelAck set interval_ 100ms
