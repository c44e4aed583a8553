import CarillonABI
import HTTPLanes

extension HTTPFields {
    private static var countLimit: Int { 64 }
    private static var bytesLimit: Int { 32 << 10 }

    /// A copy of a plugin's fields, in one piece.
    init(reading start: UnsafePointer<carillon_field>?, count: Int) throws(RequestFlaw) {
        guard count != 0 else {
            self.init()
            return
        }
        guard (1...Self.countLimit).contains(count), let start else {
            throw RequestFlaw(.CARILLON_INVALID, "headers is NULL with a count, or there are more than 64")
        }
        let fields = UnsafeBufferPointer(start: start, count: count)
        self.init(reservingFields: count, bytes: try Self.length(of: fields))
        for field in fields {
            guard let name = PluginText.bytes(field.name, limit: Self.bytesLimit), !Self.isHosts(name),
                let value = PluginText.bytes(field.value, limit: Self.bytesLimit)
            else { throw RequestFlaw(.CARILLON_INVALID, "a header frames the message, which is the host's to do") }
            append(name: name, value: value)
        }
        guard isWellFormed else {
            throw RequestFlaw(
                .CARILLON_INVALID,
                "a header's name is not a token in lower case, or its value has control characters"
            )
        }
        guard isASCII || areValuesUTF8 else { throw RequestFlaw(.CARILLON_INVALID, "a header's value is not UTF-8") }
    }

    private var areValuesUTF8: Bool {
        withBytes { bytes in (0..<bytes.count).allSatisfy { PluginText.isUTF8(bytes[$0].value) } }
    }

    private static func length(of fields: UnsafeBufferPointer<carillon_field>) throws(RequestFlaw) -> Int {
        var length = 0
        for field in fields {
            guard let name = PluginText.bytes(field.name, limit: bytesLimit - length),
                let value = PluginText.bytes(field.value, limit: bytesLimit - length - name.count)
            else { throw RequestFlaw(.CARILLON_INVALID, "a header is NULL with a length, or all are beyond 32 KiB") }
            length += name.count + value.count
        }
        return length
    }

    /// Fields that frame the message: the host's, or a plugin could smuggle a second request into the first.
    private static func isHosts(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        switch name.count {
        case 2: equal(name, "te")
        case 4: equal(name, "host")
        case 7: equal(name, "upgrade")
        case 10: equal(name, "connection") || equal(name, "keep-alive")
        case 14: equal(name, "content-length")
        case 16: equal(name, "proxy-connection")
        case 17: equal(name, "transfer-encoding")
        default: false
        }
    }

    private static func equal(_ name: UnsafeBufferPointer<UInt8>, _ text: StaticString) -> Bool {
        text.withUTF8Buffer { name.elementsEqual($0) }
    }
}
