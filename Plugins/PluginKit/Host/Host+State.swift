internal import CarillonABI

extension Host {
    private static let states: StaticString = "carillon.state/1"

    /// What ``setState(_:_:)`` kept under `key`, also before the router or the plugin's process was started anew; nil:
    /// nothing. Throws when the router has no such service.
    public func state(_ key: String) throws(PluginError) -> [UInt8]? {
        guard let get = service(Self.states, carillon_states.self)?.get else {
            throw .missingService(Self.states, since: "1.6")
        }
        var copy: [UInt8] = []
        var key = key
        let status = key.withUTF8 { key in
            withUnsafeMutablePointer(to: &copy) {
                get(pointer, carillon_str(UnsafeRawBufferPointer(key)), copyValue, $0)
            }
        }
        switch status {
        case .CARILLON_OK: return copy
        case .CARILLON_INVALID: return nil
        default: throw PluginError("the router does not hand out what it keeps (status \(status.rawValue))")
        }
    }

    /// Keeps a value for the time after a new start of the router or of the plugin's process, encrypted on disk: at
    /// most 16 KiB, 256 keys and 256 KiB altogether. A key has 1 to 64 printable ASCII bytes; an empty value removes
    /// it.
    ///
    /// ``state(_:)`` has a value at once, the disk within a second. Throws when the router has no such service, or does
    /// not take the value.
    public func setState(_ key: String, _ value: [UInt8]) throws(PluginError) {
        guard let set = service(Self.states, carillon_states.self)?.set else {
            throw .missingService(Self.states, since: "1.6")
        }
        var key = key
        let status = key.withUTF8 { key in
            value.withUnsafeBytes { value in
                set(pointer, carillon_str(UnsafeRawBufferPointer(key)), carillon_bytes(value))
            }
        }
        guard status == .CARILLON_OK else {
            throw PluginError(
                "the router does not keep the value: expected a key of 1 to 64 printable ASCII characters, at most "
                    + "16 KiB for one value, 256 keys and 256 KiB altogether"
            )
        }
    }
}

/// Takes a value that the router lends into the array of bytes behind `context`.
func copyValue(_ context: UnsafeMutableRawPointer?, _ value: carillon_bytes) {
    let bytes = UnsafeRawBufferPointer(start: value.ptr, count: value.ptr == nil ? 0 : max(0, value.len))
    context?.assumingMemoryBound(to: [UInt8].self).pointee = Array(bytes)
}
