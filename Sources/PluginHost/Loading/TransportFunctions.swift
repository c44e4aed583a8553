import CarillonABI

/// A transport's function table in a copy of our own, with everything required present.
///
/// Unchecked: function pointers into a library that is never unloaded, and nothing here ever changes.
package struct TransportFunctions: @unchecked Sendable {
    package typealias Create =
        @convention(c) (
            UnsafePointer<carillon_host>?, carillon_str, UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
            UnsafeMutablePointer<carillon_error>?
        ) -> carillon_status
    package typealias Destroy = @convention(c) (UnsafeMutableRawPointer?) -> Void
    package typealias Validate =
        @convention(c) (
            UnsafeMutableRawPointer?, UnsafePointer<carillon_registration>?, UnsafeMutablePointer<carillon_error>?
        ) -> carillon_status
    package typealias Deliver =
        @convention(c) (
            UnsafeMutableRawPointer?, UInt64, UnsafePointer<carillon_registration>?,
            UnsafePointer<carillon_notification>?
        ) -> carillon_status
    package typealias Cancel = @convention(c) (UnsafeMutableRawPointer?, UInt64) -> Void

    package typealias Command =
        @convention(c) (
            UnsafeMutableRawPointer?, UnsafePointer<carillon_str>?, Int, carillon_command_done?,
            UnsafeMutableRawPointer?
        ) -> carillon_status

    package let platform: String
    /// Whether it seals notifications itself (`CARILLON_TRANSPORT_ENCRYPTS`).
    let encrypts: Bool
    /// Whether a person sees whatever it delivers (`CARILLON_TRANSPORT_SHOWS`).
    let shows: Bool
    package let create: Create
    package let destroy: Destroy
    package let validate: Validate?
    package let deliver: Deliver
    package let cancel: Cancel?
    package let command: Command?

    init(reading pointer: UnsafePointer<carillon_transport>) throws(PluginRefusal.Reason) {
        guard let transport = carillon_transport(adopting: pointer) else {
            throw .badDescriptor("struct_size of a carillon_transport is implausible")
        }
        guard let platform = PluginText.word(transport.platform) else {
            throw .badDescriptor("a platform's name must be 1 to 64 of a-z, 0-9, \"-\" and \"_\"")
        }
        let owner = "transport \(platform)"
        guard let create = transport.create else { throw .missingFunction("create", of: owner) }
        guard let destroy = transport.destroy else { throw .missingFunction("destroy", of: owner) }
        guard let deliver = transport.deliver else { throw .missingFunction("deliver", of: owner) }
        self.platform = platform
        self.encrypts = transport.flags & UInt32(CARILLON_TRANSPORT_ENCRYPTS) != 0
        self.shows = transport.flags & UInt32(CARILLON_TRANSPORT_SHOWS) != 0
        self.create = create
        self.destroy = destroy
        self.validate = transport.validate
        self.deliver = deliver
        self.cancel = transport.cancel
        self.command = transport.command
    }
}
