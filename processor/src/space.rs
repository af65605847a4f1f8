//! [`Space`]: a memory of separate regions.

/// A memory of separate regions. An access outside all regions is an error.
#[derive(Default)]
pub struct Space {
    regions: Vec<Region>,
    /// Parts of the memory of this process, which are readable at their own addresses.
    image: Vec<&'static [u8]>,
}

struct Region {
    name: String,
    start: u64,
    bytes: Vec<u8>,
    writable: bool,
}

/// Region `i` lies between `(i + 1) * REGION_DISTANCE` and `(i + 2) * REGION_DISTANCE`.
const REGION_DISTANCE: u64 = 1 << 32;

/// The location of bytes, as an index and an offset: in a region, or in a part of the image.
enum Location {
    Region(usize, usize),
    Image(usize, usize),
}

impl Space {
    /// Makes memory of this process readable at its own addresses.
    pub fn show(&mut self, memory: &'static [u8]) {
        self.image.push(memory);
    }

    /// Adds a region that begins at a multiple of 64, and returns its address.
    pub fn place(&mut self, name: impl Into<String>, bytes: &[u8], writable: bool) -> u64 {
        self.place_at(name, bytes, writable, 0)
    }

    /// Adds a region that begins `shift` bytes after a multiple of 64, and returns its address.
    pub fn place_at(&mut self, name: impl Into<String>, bytes: &[u8], writable: bool, shift: usize) -> u64 {
        let start = (self.regions.len() as u64 + 1) * REGION_DISTANCE + (1 << 20) + shift as u64;
        self.regions.push(Region { name: name.into(), start, bytes: bytes.to_vec(), writable });
        start
    }

    /// Finds `bytes` bytes at `address`.
    fn find(&self, address: u64, bytes: usize) -> Result<Location, String> {
        let index = (address / REGION_DISTANCE).wrapping_sub(1) as usize;
        if let Some(region) = self.regions.get(index) {
            let offset = address.wrapping_sub(region.start);
            let len = region.bytes.len() as u64;
            if offset > len || bytes as u64 > len - offset {
                let (name, offset) = (&region.name, offset as i64);
                return Err(format!(
                    "accesses {bytes} bytes at offset {offset} of {name}, which has {len} bytes"
                ));
            }
            return Ok(Location::Region(index, offset as usize));
        }
        for (index, part) in self.image.iter().enumerate() {
            let offset = address.wrapping_sub(part.as_ptr().addr() as u64);
            let len = part.len() as u64;
            if offset < len && bytes as u64 <= len - offset {
                return Ok(Location::Image(index, offset as usize));
            }
        }
        Err(format!("accesses {address:#x}, which is in no region"))
    }

    /// Reads `bytes` bytes at an address.
    ///
    /// # Errors
    /// The bytes do not lie in one region.
    pub fn read(&self, address: u64, bytes: usize) -> Result<&[u8], String> {
        Ok(&self.rest(address, bytes)?[..bytes])
    }

    /// Reads `bytes` bytes as [`Space::read`] does, or fewer bytes if the region ends before.
    pub(crate) fn read_at_most(&self, address: u64, bytes: usize) -> Result<&[u8], String> {
        let rest = self.rest(address, 1)?;
        Ok(&rest[..bytes.min(rest.len())])
    }

    /// Returns the bytes of a region from an address to the end of the region: at least `bytes` bytes.
    fn rest(&self, address: u64, bytes: usize) -> Result<&[u8], String> {
        Ok(match self.find(address, bytes)? {
            Location::Region(index, offset) => &self.regions[index].bytes[offset..],
            Location::Image(index, offset) => &self.image[index][offset..],
        })
    }

    /// Writes bytes at an address.
    ///
    /// # Errors
    /// The bytes do not lie in one region, or the region is read-only.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), String> {
        let Location::Region(index, offset) = self.find(address, bytes.len())? else {
            return Err(format!("writes to {address:#x}, which is read-only"));
        };
        let region = &mut self.regions[index];
        if !region.writable {
            return Err(format!("writes to {}, which is read-only", region.name));
        }
        region.bytes[offset..offset + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    /// Returns all bytes of the region that begins at `start`, or no bytes if there is no such region.
    pub fn region(&self, start: u64) -> &[u8] {
        let region = self.regions.iter().find(|region| region.start == start);
        region.map_or(&[], |region| &region.bytes)
    }
}
