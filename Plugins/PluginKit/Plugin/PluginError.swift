internal import CarillonABI

/// One sentence meant for an operator: what is wrong and what was expected. Never a token, key or URL of a user.
public struct PluginError: Error, CustomStringConvertible, Sendable {
    /// What is wrong, for operators: what was expected and where, and no secret.
    public let description: String

    /// Takes the words for operators.
    public init(_ description: String) {
        self.description = description
    }

    /// Says where in a rule's block the mistake is, by a JSON pointer such as `/actions/0`, so that the router can name
    /// the line.
    public init(at pointer: String, _ description: String) {
        self.init("\(pointer): \(description)")
    }

    /// The same of a block that stands under `key`, where the sentence begins with a key of that block.
    public func inside(_ key: StaticString) -> PluginError { PluginError("\(key).\(description)") }

    /// What `body` returns; what it throws gets a place of the configuration in front, as in `services.pager.url: …`.
    public static func at<Result>(
        _ place: String,
        _ body: () throws(PluginError) -> Result
    ) throws(PluginError) -> Result {
        do throws(PluginError) {
            return try body()
        } catch {
            // What begins with a key and a colon says where it is, too.
            let isPlaced = error.description.first { $0 == ":" || $0 == " " } == ":"
            throw PluginError(place + (isPlaced ? "." : ": ") + error.description)
        }
    }

    /// Writes the sentence into the room that a caller of the ABI lent, cut at a character when it does not fit.
    func write(to error: UnsafeMutablePointer<carillon_error>?) {
        guard let error, let room = error.pointee.buf else { return }
        let capacity = error.pointee.capacity
        var length = 0
        for character in description {
            let bytes = String(character).utf8
            guard length + bytes.count <= capacity else { break }
            for byte in bytes {
                room[length] = CChar(bitPattern: byte)
                length += 1
            }
        }
        error.pointee.len = length
    }
}

/// Lends the host room for one sentence.
enum ErrorBuffer {
    private static let capacity = 512

    /// What `body` returned, and what it wrote meanwhile.
    static func lend(
        _ body: (UnsafeMutablePointer<carillon_error>) -> carillon_status
    ) -> (status: carillon_status, said: String) {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: capacity) { buffer in
            buffer.initialize(repeating: 0)
            var error = carillon_error(buf: buffer.baseAddress, capacity: capacity, len: 0)
            let status = body(&error)
            let length = Int(min(UInt(bitPattern: error.len), UInt(capacity)))
            return (status, String(decoding: UnsafeRawBufferPointer(buffer).prefix(length), as: UTF8.self))
        }
    }
}
