public import CarillonABI

/// Builds the static tables that a plugin's entry function returns.
public enum PluginDescriptor {
    /// A `carillon_plugin` that lives until the process ends. Build it once, in a global of the target that exports the
    /// entry function.
    public static func make(
        id: StaticString,
        version: StaticString,
        transports: [TransportEntry] = [],
        filters: [FilterEntry] = []
    ) -> UnsafePointer<carillon_plugin> {
        let tables = UnsafeMutablePointer<UnsafePointer<carillon_transport>?>.allocate(capacity: transports.count)
        for (index, entry) in transports.enumerated() {
            tables.advanced(by: index).initialize(to: table(entry))
        }
        let filterTables = UnsafeMutablePointer<UnsafePointer<carillon_filter>?>.allocate(capacity: filters.count)
        for (index, entry) in filters.enumerated() {
            filterTables.advanced(by: index).initialize(to: entry.table())
        }
        let plugin = UnsafeMutablePointer<carillon_plugin>.allocate(capacity: 1)
        plugin.initialize(
            to: carillon_plugin(
                struct_size: UInt32(MemoryLayout<carillon_plugin>.size),
                abi_minor: UInt32(CARILLON_ABI_MINOR),
                id: carillon_str(id),
                version: carillon_str(version),
                transports: UnsafePointer(tables),
                transport_count: transports.count,
                filters: UnsafePointer(filterTables),
                filter_count: filters.count
            )
        )
        return UnsafePointer(plugin)
    }

    private static func table(_ entry: TransportEntry) -> UnsafePointer<carillon_transport> {
        let transport = UnsafeMutablePointer<carillon_transport>.allocate(capacity: 1)
        transport.initialize(
            to: carillon_transport(
                struct_size: UInt32(MemoryLayout<carillon_transport>.size),
                flags: (entry.encrypts ? UInt32(CARILLON_TRANSPORT_ENCRYPTS) : 0)
                    | (entry.shows ? UInt32(CARILLON_TRANSPORT_SHOWS) : 0),
                platform: carillon_str(entry.platform),
                create: entry.create,
                destroy: destroyTransport,
                validate: validateRegistration,
                deliver: deliverNotification,
                cancel: cancelDelivery,
                command: runCommand,
                describe: entry.description.map { carillon_str($0) } ?? carillon_str(ptr: nil, len: 0),
                check: entry.check
            )
        )
        return UnsafePointer(transport)
    }
}

// Functions and not closures: a closure passed to a C struct's initialiser inherits its context's isolation.

private func destroyTransport(_ instance: UnsafeMutableRawPointer?) {
    guard let instance else { return }
    TransportBox.release(instance)
}

private func validateRegistration(
    _ instance: UnsafeMutableRawPointer?,
    _ registration: UnsafePointer<carillon_registration>?,
    _ error: UnsafeMutablePointer<carillon_error>?
) -> carillon_status {
    guard let instance, let registration else { return .CARILLON_INVALID }
    do throws(PluginError) {
        try TransportBox.at(instance).transport.validate(Registration(registration))
        return .CARILLON_OK
    } catch let mistake {
        mistake.write(to: error)
        return .CARILLON_INVALID
    }
}

private func deliverNotification(
    _ instance: UnsafeMutableRawPointer?,
    _ number: UInt64,
    _ registration: UnsafePointer<carillon_registration>?,
    _ notification: UnsafePointer<carillon_notification>?
) -> carillon_status {
    guard let instance, let registration, let notification else { return .CARILLON_INVALID }
    return TransportBox.at(instance).deliver(number, registration, notification)
}

private func cancelDelivery(_ instance: UnsafeMutableRawPointer?, _ number: UInt64) {
    guard let instance else { return }
    TransportBox.at(instance).transport.cancel(number)
}

private func runCommand(
    _ instance: UnsafeMutableRawPointer?,
    _ words: UnsafePointer<carillon_str>?,
    _ count: Int,
    _ done: carillon_command_done?,
    _ context: UnsafeMutableRawPointer?
) -> carillon_status {
    guard let instance, let done, count == 0 || words != nil else { return .CARILLON_INVALID }
    let words = UnsafeBufferPointer(start: words, count: count).map { BorrowedText($0).string }
    let reply = CommandReply(done: done, context: context)
    let admission = TransportBox.at(instance).transport.command(words) { reply.send($0) }
    // A command that was answered was accepted, whatever the transport says afterwards.
    guard admission.status != .CARILLON_OK, reply.withdraw() else { return .CARILLON_OK }
    return admission.status
}
