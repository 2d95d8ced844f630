//! What tests of scripts share.

/// A connection that is accepted at 0.1 s, on seven lines.
pub(crate) const OPENED: &str = "\
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <mss 1000,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <...>
+.1 < . 1:1(0) ack 1 win 500
+0 accept(3, ..., ...) = 4
";
