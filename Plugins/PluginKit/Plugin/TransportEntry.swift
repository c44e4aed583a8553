public import CarillonABI

/// One transport of a plugin: its platform and the C function that creates it.
public struct TransportEntry {
    /// The type of the ABI's `create`.
    public typealias Create =
        @convention(c) (
            UnsafePointer<carillon_host>?, carillon_str, UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
            UnsafeMutablePointer<carillon_error>?
        ) -> carillon_status

    /// The type of the ABI's `check`.
    public typealias Check = @convention(c) (carillon_str, UnsafeMutablePointer<carillon_error>?) -> carillon_status

    let platform: StaticString
    let description: StaticString?
    let encrypts: Bool
    let shows: Bool
    let check: Check?
    let create: Create

    /// A transport with its ``PluginTransport/description``.
    ///
    /// A C function cannot be generic, so the plugin names the type where the functions are written: `create` is a closure
    /// that calls ``make(_:_:_:_:_:)``, and `check`, where the transport has one, calls ``check(_:_:_:)``. With `encrypts` the
    /// transport itself seals what comes in ``Mode/sealed``, to keys of the registration. With `shows` a person sees whatever it
    /// delivers, also a wake-up, so that it gets nothing silent.
    ///
    /// ```swift
    /// TransportEntry(MyTransport.self, check: { TransportEntry.check(MyTransport.self, $0, $1) }) {
    ///     TransportEntry.make(MyTransport.self, $0, $1, $2, $3)
    /// }
    /// ```
    public init<Transport: PluginTransport>(
        _ type: Transport.Type,
        encrypts: Bool = false,
        shows: Bool = false,
        check: Check? = nil,
        create: @escaping Create
    ) {
        self.platform = type.platform
        self.description = type.description
        self.encrypts = encrypts
        self.shows = shows
        self.check = check
        self.create = create
    }

    /// The same without a description.
    public init(
        platform: StaticString,
        encrypts: Bool = false,
        shows: Bool = false,
        create: @escaping Create
    ) {
        self.platform = platform
        self.description = nil
        self.encrypts = encrypts
        self.shows = shows
        self.check = nil
        self.create = create
    }

    /// The body of an ABI `check`: reads the block and asks the transport's type.
    public static func check<Transport: PluginTransport>(
        _ type: Transport.Type,
        _ block: carillon_str,
        _ error: UnsafeMutablePointer<carillon_error>?
    ) -> carillon_status {
        do throws(PluginError) {
            try type.check(parsed(block, "block"))
            return .CARILLON_OK
        } catch let mistake {
            mistake.write(to: error)
            return .CARILLON_INVALID
        }
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

    static func parsed(
        _ text: carillon_str,
        _ what: StaticString = "configuration"
    ) throws(PluginError) -> JSONObject {
        do throws(JSONError) {
            return try JSONObject(parsing: BorrowedText(text).bytes)
        } catch {
            throw PluginError("\(what): \(error)")
        }
    }
}
