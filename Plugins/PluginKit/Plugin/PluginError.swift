internal import CarillonABI

/// An error of a plugin: one sentence for an operator about what is wrong and what was expected, such as
/// `PluginError("url: expected an https URL")`. Never a user's token, key or URL.
public struct PluginError: Error, CustomStringConvertible, Sendable {
    /// The sentence, without secrets.
    public let description: String

    public init(_ description: String) {
        self.description = description
    }

    /// Locates the error in a rule's block by a JSON pointer such as `/actions/0`, so that the router can show the
    /// line.
    public init(at pointer: String, _ description: String) {
        self.init("\(pointer): \(description)")
    }

    /// Returns the error for a block under `key`, if the sentence starts with a key of that block.
    public func inside(_ key: StaticString) -> PluginError { PluginError("\(key).\(description)") }

    /// Returns the result of `body`; prefixes errors with a configuration path, as in `services.pager.url: …`.
    public static func at<Result>(
        _ place: String,
        _ body: () throws(PluginError) -> Result
    ) throws(PluginError) -> Result {
        do throws(PluginError) {
            return try body()
        } catch {
            // A sentence that starts with a key and a colon has a path already.
            let isPlaced = error.description.first { $0 == ":" || $0 == " " } == ":"
            throw PluginError(place + (isPlaced ? "." : ": ") + error.description)
        }
    }

    /// Writes the sentence into the caller's buffer, truncated at a character if it does not fit.
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

/// A buffer for one sentence of the plugin.
enum ErrorBuffer {
    private static let capacity = 512

    /// Returns the result of `body`, and the sentence it wrote.
    static func withBuffer(
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
