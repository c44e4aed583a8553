/// This machine as it addresses itself.
package enum LoopbackAddress {
    /// Whether `address`, as the system spells it, is one of them.
    package static func contains(_ address: String) -> Bool {
        address.hasPrefix("127.") || address == "::1" || address.hasPrefix("::ffff:127.")
    }
}
