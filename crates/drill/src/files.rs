//! Files and pipes, as far as `sendfile` and `splice` need them: they have as many bytes as a call wants.

use super::call::{argument, Reply, Returned};
use super::runner::Runner;
use super::script::Call;
use super::value::Value;
use super::DrillError;

/// The bytes that a pipe takes (fs/pipe.c: 16 buffers of a page).
const PIPE: u64 = 65_536;

impl Runner<'_> {
    /// `open("/dev/zero", O_RDONLY) = 5` and `pipe([6, 7]) = 0`.
    pub(super) fn open_file(&mut self, line: u32, call: &Call) -> Result<Returned, DrillError> {
        if call.name == "open" {
            let fd = call.result.filter(|&fd| fd >= 0).unwrap_or(6);
            self.sockets.files.push(fd);
            return Ok(Ok(fd));
        }
        let ends = call.values.first().cloned().flatten().unwrap_or_default();
        let ends: Vec<_> = ends.items().iter().filter_map(Value::number).collect();
        if ends.len() != 2 {
            let what = format!("{} with \"{}\"", call.name, argument(call, 0));
            return self.refuse(line, what, "expected the numbers of its two ends: [6, 7]");
        }
        self.sockets.files.extend(ends);
        Ok(Ok(0))
    }

    /// Whether an argument is a file or an end of a pipe.
    fn is_file(&self, line: u32, call: &Call, index: usize) -> Result<bool, DrillError> {
        let fd = self.number(line, call, index)? as i64;
        Ok(self.sockets.files.contains(&fd))
    }

    /// `sendfile(4, 5, [0], 10) = 10`, and `splice(5, NULL, 7, NULL, 10, 0) = 10` between files, pipes and the socket. Data for
    /// the socket is written to it.
    pub(super) fn write_file(&mut self, line: u32, call: &Call) -> Result<Reply, DrillError> {
        let (from, to, count) = if call.name == "sendfile" {
            (1, 0, 3)
        } else {
            (0, 2, 4)
        };
        let (is_from_file, is_to_file) = (
            self.is_file(line, call, from)?,
            self.is_file(line, call, to)?,
        );
        if is_from_file && is_to_file {
            let bytes = self.number(line, call, count)?.min(PIPE);
            return Ok(Some(Ok(bytes as i64)));
        }
        if !is_from_file && !is_to_file && call.name == "splice" {
            // do_splice(): one of both is a pipe.
            return Ok(Some(Err("EINVAL")));
        }
        if call.name == "splice" && !is_from_file {
            // tcp_splice_read().
            let mut read = call.clone();
            read.name = "read".into();
            read.arguments = vec![
                argument(call, 0).into(),
                "...".into(),
                argument(call, count).into(),
            ];
            read.values = vec![None; 3];
            return self.read(line, &read);
        }
        if !is_from_file {
            let what = format!("{} from {}", call.name, argument(call, from));
            let why = "expected a file or a pipe that was opened: open(..., O_RDONLY) = 5";
            return self.refuse(line, what, why);
        }
        let mut of_socket = call.clone();
        of_socket.arguments.swap(0, to);
        self.write(line, &of_socket)
    }
}
