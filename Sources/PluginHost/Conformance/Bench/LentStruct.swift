import CarillonABI

/// A struct of the ABI that the host lends to plugins.
protocol LentStruct: ForeignStruct {
    /// Its size in minor version 0, whatever was appended since.
    static var firstSize: Int { get }
}

extension carillon_host: LentStruct {
    static var firstSize: Int { end(of: \.query) }
}

extension carillon_client_certificates: LentStruct {
    static var firstSize: Int { end(of: \.present) }
}

extension carillon_registration: LentStruct {
    static var firstSize: Int { end(of: \.registered_unix_ms) }
}

extension carillon_action: LentStruct {
    static var firstSize: Int { end(of: \.icon) }
}

extension carillon_notification: LentStruct {
    static var firstSize: Int { end(of: \.expires_unix_ms) }
}

extension carillon_http_response: LentStruct {
    static var firstSize: Int { end(of: \.failure) }
}

extension carillon_filter_call: LentStruct {
    static var firstSize: Int { end(of: \.set) }
}

extension LentStruct {
    fileprivate static func end<Field>(of field: KeyPath<Self, Field>) -> Int {
        MemoryLayout<Self>.offset(of: field).map { $0 + MemoryLayout<Field>.size } ?? MemoryLayout<Self>.size
    }
}
