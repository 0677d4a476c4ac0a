//! Tasks as lines of JSON, out of a store and into one.

use std::io::{BufRead, Read as _, Write};

use steadfast_store::{Brought, Store, Whole};

use super::line::{self, Header};
use super::report::Imported;
use crate::error::{Error, ErrorKind};
use crate::find::Find;
use crate::node::Node;
use crate::scheduler::Inbox;

/// How many tasks are read at a time: with the largest payloads some hundred megabytes, with usual ones some hundred kilobytes.
const PAGE: usize = 64;
/// The most tasks, and about the most bytes, of one write: it keeps others waiting for some milliseconds.
const MOST_TASKS: usize = 128;
const MOST_BYTES: usize = 1 << 20;
/// The longest line: a task of sixty-four steps with the largest outputs there are. It guards against a file without lines.
const MOST_LINE: u64 = 128 << 20;

impl<S: Store> Node<S> {
    /// Writes tasks as lines of JSON, newest first, behind a line that says what follows; how many. Tasks that are submitted
    /// meanwhile may be missing. Each is as it is at one moment.
    ///
    /// # Errors
    /// The store's, and what the writer says.
    pub async fn export(&self, find: &Find, out: &mut (dyn Write + Send)) -> Result<u64, Error> {
        put(out, serde_json::to_vec(&Header::new()))?;
        let (mut behind, mut count, mut left) = (None, 0, find.most.unwrap_or(usize::MAX));
        loop {
            let found = self.find(find, behind, PAGE.min(left)).await?;
            left -= found.tasks.len().min(left);
            let ids = found.tasks.iter().map(|stored| stored.id).collect();
            // One that was removed meanwhile is not there any more.
            for whole in self.shared().store.whole(ids).await?.into_iter().flatten() {
                put(out, line::write(whole))?;
                count += 1;
            }
            behind = found.behind.filter(|_| left > 0);
            if behind.is_none() {
                out.flush().map_err(|error| failed("the export could not be written", error))?;
                return Ok(count);
            }
        }
    }

    /// Stores the tasks of an export. Nobody works on them yet, and what ran is taken to have lost its process. A task that is here
    /// already, as it is there or further on, counts as seen. A line that cannot be stored is told of, with nothing of it stored; the
    /// others are stored. What was stored stays so if this fails in the middle: begin again from the first line.
    ///
    /// # Errors
    /// The store's; what the reader says; a file that is no export, or of a newer version.
    pub async fn import(&self, from: &mut (dyn BufRead + Send)) -> Result<Imported, Error> {
        let mut lines = Lines { from, number: 0, line: Vec::new() };
        let header = lines.next()?.map_or(Ok(()), Header::check);
        header.map_err(|why| bad(lines.number.max(1), why))?;
        if lines.number == 0 {
            return Err(bad(1, "it is empty: is it an export of tasks?".to_owned()));
        }
        let (mut imported, mut batch, mut bytes) = (Imported::default(), Vec::new(), 0);
        while let Some(line) = lines.next()? {
            match line::read(line) {
                Ok(whole) => {
                    bytes += whole.bytes();
                    batch.push((lines.number, whole));
                }
                Err(reason) => imported.refuse(lines.number, reason),
            }
            if batch.len() >= MOST_TASKS || bytes >= MOST_BYTES {
                self.bring(std::mem::take(&mut batch), &mut imported).await?;
                bytes = 0;
            }
        }
        self.bring(batch, &mut imported).await?;
        // What is told in the order of the file, whichever batch it was of.
        imported.bad_lines.sort_by_key(|bad| bad.line);
        let open = self.shared().store.open_tasks().await?;
        self.shared().tell(Inbox::Open(open));
        self.shared().tell(Inbox::Look);
        Ok(imported)
    }

    async fn bring(&self, batch: Vec<(u64, Whole)>, imported: &mut Imported) -> Result<(), Error> {
        let (lines, wholes): (Vec<u64>, Vec<Whole>) = batch.into_iter().unzip();
        for (line, brought) in lines.into_iter().zip(self.shared().store.bring(wholes).await?) {
            match brought {
                Brought::New => imported.new += 1,
                Brought::Seen => imported.seen += 1,
                Brought::Refused(reason) => imported.refuse(line, reason),
            }
        }
        Ok(())
    }
}

fn put(out: &mut (dyn Write + Send), line: Result<Vec<u8>, serde_json::Error>) -> Result<(), Error> {
    let mut line = line.map_err(|error| failed("a task could not be written as JSON", error.into()))?;
    line.push(b'\n');
    out.write_all(&line).map_err(|error| failed("the export could not be written", error))
}

fn failed(what: &str, error: std::io::Error) -> Error {
    Error::because(ErrorKind::Transfer(format!("{what}: {error}")), error)
}

fn bad(line: u64, why: String) -> Error {
    ErrorKind::BadImport { line, why }.into()
}

/// Lines of a file, with their numbers.
struct Lines<'a> {
    from: &'a mut (dyn BufRead + Send),
    number: u64,
    line: Vec<u8>,
}

impl Lines<'_> {
    /// The next one that is not empty, without its end.
    fn next(&mut self) -> Result<Option<&[u8]>, Error> {
        loop {
            self.line.clear();
            let read = (&mut self.from).take(MOST_LINE).read_until(b'\n', &mut self.line);
            let read = read.map_err(|error| failed("the import could not be read", error))?;
            if read == 0 {
                return Ok(None);
            }
            self.number += 1;
            if u64::try_from(read) == Ok(MOST_LINE) && self.line.last() != Some(&b'\n') {
                return Err(bad(self.number, format!("it has more than {MOST_LINE} bytes, and is no task")));
            }
            if !self.line.trim_ascii().is_empty() {
                break;
            }
        }
        Ok(Some(self.line.trim_ascii()))
    }
}
