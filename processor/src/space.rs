//! [`Space`]: memory as regions with nothing between them.

/// Memory as regions with nothing between them: an address outside all of them is an error.
#[derive(Default)]
pub struct Space {
    regions: Vec<Region>,
    /// Memory of the process, at its own addresses.
    image: Vec<&'static [u8]>,
}

struct Region {
    name: String,
    start: u64,
    bytes: Vec<u8>,
    writable: bool,
}

/// Regions begin so far apart, the first at the second multiple.
const APART: u64 = 1 << 32;

/// Where bytes lie: in a region, or in a part of the image.
enum Found {
    Region(usize, usize),
    Image(usize, usize),
}

impl Space {
    /// Makes memory of the process readable at its own address.
    pub fn show(&mut self, memory: &'static [u8]) {
        self.image.push(memory);
    }

    /// A region at an address that is a multiple of 64, which is given.
    pub fn place(&mut self, name: impl Into<String>, bytes: &[u8], writable: bool) -> u64 {
        self.place_at(name, bytes, writable, 0)
    }

    /// A region `shift` bytes behind a multiple of 64; its address.
    pub fn place_at(&mut self, name: impl Into<String>, bytes: &[u8], writable: bool, shift: usize) -> u64 {
        let start = (self.regions.len() as u64 + 1) * APART + (1 << 20) + shift as u64;
        self.regions.push(Region { name: name.into(), start, bytes: bytes.to_vec(), writable });
        start
    }

    /// Where `bytes` bytes at `address` lie.
    fn find(&self, address: u64, bytes: usize) -> Result<Found, String> {
        let at = (address / APART).wrapping_sub(1) as usize;
        if let Some(region) = self.regions.get(at) {
            let offset = address.wrapping_sub(region.start);
            let room = region.bytes.len() as u64;
            if offset > room || bytes as u64 > room - offset {
                let (name, offset) = (&region.name, offset as i64);
                return Err(format!("{bytes} bytes at {offset} of {name}, which has {room}"));
            }
            return Ok(Found::Region(at, offset as usize));
        }
        for (at, part) in self.image.iter().enumerate() {
            let offset = address.wrapping_sub(part.as_ptr().addr() as u64);
            let room = part.len() as u64;
            if offset < room && bytes as u64 <= room - offset {
                return Ok(Found::Image(at, offset as usize));
            }
        }
        Err(format!("{address:#x} is nowhere"))
    }

    /// So many bytes at an address.
    ///
    /// # Errors
    /// They are not all there.
    pub fn read(&self, address: u64, bytes: usize) -> Result<&[u8], String> {
        Ok(&self.rest(address, bytes)?[..bytes])
    }

    /// As [`Space::read`], less where the region ends.
    pub(crate) fn read_at_most(&self, address: u64, bytes: usize) -> Result<&[u8], String> {
        let rest = self.rest(address, 1)?;
        Ok(&rest[..bytes.min(rest.len())])
    }

    /// The memory from an address on, which is at least so many bytes.
    fn rest(&self, address: u64, bytes: usize) -> Result<&[u8], String> {
        Ok(match self.find(address, bytes)? {
            Found::Region(at, offset) => &self.regions[at].bytes[offset..],
            Found::Image(at, offset) => &self.image[at][offset..],
        })
    }

    /// Writes bytes at an address.
    ///
    /// # Errors
    /// They are not all there, or not to be written.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), String> {
        let Found::Region(at, offset) = self.find(address, bytes.len())? else {
            return Err(format!("{address:#x} is not to be written"));
        };
        let region = &mut self.regions[at];
        if !region.writable {
            return Err(format!("{} is not to be written", region.name));
        }
        region.bytes[offset..offset + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    /// All bytes of the region that begins at `start`.
    pub fn region(&self, start: u64) -> &[u8] {
        let region = self.regions.iter().find(|region| region.start == start);
        region.map_or(&[], |region| &region.bytes)
    }
}
