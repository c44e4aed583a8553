extension AddressGuard {
    /// A guard that permits `blocks` in CIDR notation besides public addresses.
    ///
    /// Throws an ``HTTPLanesError`` when a text is no such block.
    package init(allowing blocks: [String]) throws {
        self.init(
            exceptions: try blocks.map { text in
                guard let block = AddressBlock(text) else { throw HTTPLanesError.notAnAddressBlock(text) }
                return block
            }
        )
    }
}
