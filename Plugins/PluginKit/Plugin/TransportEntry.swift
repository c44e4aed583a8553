public import CarillonABI

/// One transport of a plugin: its platform and the C function that creates it.
public struct TransportEntry {
    /// The type of the ABI's `create`.
    public typealias Create =
        @convention(c) (
            UnsafePointer<carillon_host>?, carillon_str, UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
            UnsafeMutablePointer<carillon_error>?
        ) -> carillon_status

    let platform: StaticString
    let encrypts: Bool
    let shows: Bool
    let create: Create

    /// `create` is a closure that calls ``make(_:_:_:_:_:)`` with the transport's type: a C function cannot be generic,
    /// so the plugin has to name the type where the function is written. `encrypts`: the transport itself seals what
    /// comes in ``Mode/sealed``, to keys of the registration. `shows`: a person sees whatever it delivers, also a
    /// wake-up, so that it is given nothing silent.
    public init(
        platform: StaticString,
        encrypts: Bool = false,
        shows: Bool = false,
        create: @escaping Create
    ) {
        self.platform = platform
        self.encrypts = encrypts
        self.shows = shows
        self.create = create
    }

    /// The body of an ABI `create`: reads the configuration, makes the transport and hands out its pointer.
    public static func make<Transport: PluginTransport>(
        _ type: Transport.Type,
        _ host: UnsafePointer<carillon_host>?,
        _ configuration: carillon_str,
        _ instance: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
        _ error: UnsafeMutablePointer<carillon_error>?
    ) -> carillon_status {
        guard let host, let instance else { return .CARILLON_INVALID }
        do throws(PluginError) {
            let host = try Host(host)
            let transport = try type.init(configuration: parsed(configuration), host: host)
            instance.pointee = TransportBox(transport, host: host).retainedPointer()
            return .CARILLON_OK
        } catch let mistake {
            mistake.write(to: error)
            return .CARILLON_INVALID
        }
    }

    static func parsed(_ configuration: carillon_str) throws(PluginError) -> JSONObject {
        do throws(JSONError) {
            return try JSONObject(parsing: BorrowedText(configuration).bytes)
        } catch {
            throw PluginError("configuration: \(error)")
        }
    }
}
