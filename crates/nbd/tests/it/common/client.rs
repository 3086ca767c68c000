//! As much of an NBD client as tests need: one request at a time.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054;
const REQUEST: u32 = 0x2560_9513;
const REPLY: u32 = 0x6744_6698;
/// No more zeros than needed, and the fixed handshake.
const FLAGS: u32 = 3;

pub struct Client {
    pub stream: UnixStream,
    pub size: u64,
    cookie: u64,
}

impl Client {
    pub fn connect(socket: &Path) -> io::Result<Client> {
        Client::begin(UnixStream::connect(socket)?)
    }

    /// The handshake, on a stream that is connected.
    pub fn begin(mut stream: UnixStream) -> io::Result<Client> {
        let mut greeting = [0; 18];
        stream.read_exact(&mut greeting)?;
        stream.write_all(&FLAGS.to_be_bytes())?;
        // NBD_OPT_EXPORT_NAME, of the default export.
        stream.write_all(&OPTION_MAGIC.to_be_bytes())?;
        stream.write_all(&1u32.to_be_bytes())?;
        stream.write_all(&0u32.to_be_bytes())?;
        let mut export = [0; 10];
        stream.read_exact(&mut export)?;
        let size = u64::from_be_bytes(export[..8].try_into().unwrap());
        Ok(Client { stream, size, cookie: 0 })
    }

    pub fn send(&mut self, flags: u16, kind: u16, offset: u64, length: u32) -> io::Result<()> {
        self.cookie += 1;
        let mut request = REQUEST.to_be_bytes().to_vec();
        request.extend(flags.to_be_bytes());
        request.extend(kind.to_be_bytes());
        request.extend(self.cookie.to_be_bytes());
        request.extend(offset.to_be_bytes());
        request.extend(length.to_be_bytes());
        self.stream.write_all(&request)
    }

    /// The error number of the reply; 0 for none.
    pub fn reply(&mut self) -> io::Result<u32> {
        let mut reply = [0; 16];
        self.stream.read_exact(&mut reply)?;
        assert_eq!(u32::from_be_bytes(reply[..4].try_into().unwrap()), REPLY);
        assert_eq!(u64::from_be_bytes(reply[8..].try_into().unwrap()), self.cookie);
        Ok(u32::from_be_bytes(reply[4..8].try_into().unwrap()))
    }

    pub fn read(&mut self, offset: u64, into: &mut [u8]) -> io::Result<u32> {
        self.send(0, 0, offset, into.len() as u32)?;
        let error = self.reply()?;
        if error == 0 {
            self.stream.read_exact(into)?;
        }
        Ok(error)
    }

    pub fn write(&mut self, offset: u64, from: &[u8], fua: bool) -> io::Result<u32> {
        self.send(u16::from(fua), 1, offset, from.len() as u32)?;
        self.stream.write_all(from)?;
        self.reply()
    }

    pub fn flush(&mut self) -> io::Result<u32> {
        self.send(0, 3, 0, 0)?;
        self.reply()
    }

    pub fn trim(&mut self, offset: u64, length: u32) -> io::Result<u32> {
        self.send(0, 4, offset, length)?;
        self.reply()
    }

    pub fn zero(&mut self, offset: u64, length: u32) -> io::Result<u32> {
        self.send(0, 6, offset, length)?;
        self.reply()
    }
}
