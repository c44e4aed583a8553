import CJSONHeader
import JSON

/// `carillon/json.h`: it reads the same as the core, writes the values that it read, and makes JSON of any bytes.
enum JSONHeaderJudge {
    static func judge(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let isRead = json_header_reads(bytes.baseAddress, bytes.count) != 0
        judgeQuoted(bytes)
        guard let text = String(validating: bytes, as: UTF8.self) else {
            promise(!isRead, "what is not UTF-8 is not JSON")
            return false
        }
        do throws(JSONSyntaxError) {
            let value = try JSONValue(parsing: text)
            promise(isRead, "it reads what the core reads")
            judgeRewritten(bytes, value)
        } catch {
            // The core is stricter in one point.
            promise(!isRead || error.expectation == .distinctNames, "it refuses what the core refuses")
            if isRead { _ = written(bytes, json_header_rewrite) }
        }
        return true
    }

    private static func judgeRewritten(_ bytes: UnsafeRawBufferPointer, _ value: JSONValue) {
        let again = written(bytes, json_header_rewrite)
        // A name with NUL cannot be written.
        guard !bytes.contains(ascii: "\\u0000") else { return }
        promise((try? JSONValue(parsing: again)) == value, "what it writes is what it read")
    }

    /// Any bytes become one string, and UTF-8 is preserved.
    private static func judgeQuoted(_ bytes: UnsafeRawBufferPointer) {
        let quoted = written(bytes, json_header_quote)
        guard case .string(let text)? = try? JSONValue(parsing: quoted) else {
            promise(false, "any bytes become a string")
            return
        }
        if let original = String(validating: bytes, as: UTF8.self) {
            promise(text == original && text.utf8.elementsEqual(original.utf8), "what is UTF-8 comes back")
        }
    }

    /// Measures the length, then writes into a buffer of exactly that size: AddressSanitizer watches its end.
    private static func written(
        _ bytes: UnsafeRawBufferPointer,
        _ write: (UnsafeRawPointer?, Int, UnsafeMutablePointer<CChar>?, Int) -> Int
    ) -> String {
        let size = write(bytes.baseAddress, bytes.count, nil, 0)
        let room = UnsafeMutablePointer<CChar>.allocate(capacity: size)
        defer { room.deallocate() }
        promise(write(bytes.baseAddress, bytes.count, room, size) == size, "it needs what it said it needs")
        return String(decoding: UnsafeRawBufferPointer(start: room, count: size), as: UTF8.self)
    }
}

extension UnsafeRawBufferPointer {
    /// Whether these bytes contain that text.
    fileprivate func contains(ascii text: StaticString) -> Bool {
        let part = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        guard count >= part.count else { return false }
        return (0...count - part.count).contains { self[$0..<$0 + part.count].elementsEqual(part) }
    }
}
