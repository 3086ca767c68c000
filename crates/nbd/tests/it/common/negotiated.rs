//! A client that negotiates all there is, and then sends whatever a test wants.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054;
const OPTION_REPLY: u64 = 0x0003_e889_0455_65a9;
const SIMPLE: u32 = 0x6744_6698;
const STRUCTURED: u32 = 0x668e_33ef;
const ACKNOWLEDGED: u32 = 1;
const DONE: u16 = 1;

const GO: u32 = 7;
const STRUCTURED_REPLIES: u32 = 8;
const SET_CONTEXT: u32 = 10;

pub struct Negotiated {
    stream: UnixStream,
}

fn number<const N: usize>(stream: &mut UnixStream) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

impl Negotiated {
    /// Structured replies and the status of blocks.
    pub fn connect(socket: &Path) -> io::Result<Negotiated> {
        let mut stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        number::<18>(&mut stream)?;
        stream.write_all(&3u32.to_be_bytes())?;
        let mut client = Negotiated { stream };
        client.option(STRUCTURED_REPLIES, &[])?;
        let context = b"base:allocation";
        let mut query = 0u32.to_be_bytes().to_vec();
        query.extend(1u32.to_be_bytes());
        query.extend((context.len() as u32).to_be_bytes());
        query.extend(context);
        client.option(SET_CONTEXT, &query)?;
        // The default export, and nothing more about it.
        client.option(GO, &[0; 6])?;
        Ok(client)
    }

    fn option(&mut self, option: u32, data: &[u8]) -> io::Result<()> {
        let mut request = OPTION_MAGIC.to_be_bytes().to_vec();
        request.extend(option.to_be_bytes());
        request.extend((data.len() as u32).to_be_bytes());
        request.extend(data);
        self.stream.write_all(&request)?;
        loop {
            let magic = u64::from_be_bytes(number(&mut self.stream)?);
            assert_eq!(magic, OPTION_REPLY);
            number::<4>(&mut self.stream)?;
            let kind = u32::from_be_bytes(number(&mut self.stream)?);
            let length = u32::from_be_bytes(number(&mut self.stream)?);
            io::copy(&mut (&mut self.stream).take(length.into()), &mut io::sink())?;
            assert!(kind < 1 << 31, "option {option} is refused: {kind:x}");
            if kind == ACKNOWLEDGED {
                return Ok(());
            }
        }
    }

    /// Sends a request; the error number of its reply, 0 for none.
    pub fn ask(&mut self, flags: u16, kind: u16, offset: u64, length: u32) -> io::Result<u32> {
        let mut request = 0x2560_9513u32.to_be_bytes().to_vec();
        request.extend(flags.to_be_bytes());
        request.extend(kind.to_be_bytes());
        request.extend(7u64.to_be_bytes());
        request.extend(offset.to_be_bytes());
        request.extend(length.to_be_bytes());
        if kind == 1 {
            request.extend(vec![0x5a; length as usize]);
        }
        self.stream.write_all(&request)?;
        let mut error = 0;
        loop {
            let magic = u32::from_be_bytes(number(&mut self.stream)?);
            if magic == SIMPLE {
                error = u32::from_be_bytes(number(&mut self.stream)?);
                number::<8>(&mut self.stream)?;
                return Ok(error);
            }
            assert_eq!(magic, STRUCTURED, "no reply begins so");
            let flags = u16::from_be_bytes(number(&mut self.stream)?);
            let kind = u16::from_be_bytes(number(&mut self.stream)?);
            number::<8>(&mut self.stream)?;
            let length = u32::from_be_bytes(number(&mut self.stream)?);
            let mut chunk = vec![0; length as usize];
            self.stream.read_exact(&mut chunk)?;
            if kind >> 15 == 1 {
                error = u32::from_be_bytes(chunk[..4].try_into().unwrap());
            }
            if flags & DONE != 0 {
                return Ok(error);
            }
        }
    }
}
