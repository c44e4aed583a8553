package import CarillonABI
import Core

/// One device, as its owner registered it; borrowed for the duration of a call. All of it is secret.
public struct Registration: ~Copyable {
    private let abi: carillon_registration

    package init(_ pointer: UnsafePointer<carillon_registration>) {
        abi = carillon_registration.adopt(pointer)
    }

    /// The device token or the endpoint URL.
    public var token: BorrowedText { BorrowedText(abi.token) }

    /// When the owner last registered it; the epoch: unknown.
    public var registeredAt: Timestamp { Timestamp(milliseconds: Int64(clamping: abi.registered_unix_ms)) }

    /// A further field of the registration such as `p256dh`, or nil.
    public func field(_ name: StaticString) -> BorrowedText? {
        field(UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
    }

    /// The same with a name that is known only when the program runs.
    public func field(named name: String) -> BorrowedText? {
        field(name.utf8)
    }

    private func field(_ name: some Sequence<UInt8>) -> BorrowedText? {
        guard let fields = abi.fields else { return nil }
        for field in UnsafeBufferPointer(start: fields, count: abi.field_count)
        where BorrowedText(field.name).bytes.elementsEqual(name) {
            return BorrowedText(field.value)
        }
        return nil
    }
}

/// Text of the host's, valid until the call that brought it returns. Never keep one: keep its ``string``.
public struct BorrowedText {
    /// UTF-8, unless the host breaks its promise.
    public let bytes: UnsafeRawBufferPointer

    package init(_ text: carillon_str) {
        bytes = UnsafeRawBufferPointer(start: text.ptr, count: text.ptr == nil ? 0 : text.len)
    }

    /// Whether there is no text.
    public var isEmpty: Bool { bytes.isEmpty }

    /// Its length in bytes of UTF-8.
    public var count: Int { bytes.count }

    /// A copy; bytes that are not UTF-8 become U+FFFD.
    public var string: String { String(decoding: bytes, as: UTF8.self) }

    /// The object that a text such as ``Notification/data`` or ``Notification/sealed`` is; no members for an empty
    /// text. Throws when it is none.
    public func jsonObject() throws(JSONError) -> JSONObject {
        isEmpty ? JSONObject() : try JSONObject(parsing: bytes)
    }

    /// Byte for byte.
    public static func == (text: BorrowedText, other: StaticString) -> Bool {
        text.bytes.elementsEqual(UnsafeBufferPointer(start: other.utf8Start, count: other.utf8CodeUnitCount))
    }
}

extension BorrowedText {
    /// The text, for a header or field of at most `limit` bytes: as it is if it fits and consists of printable ASCII
    /// without blanks, otherwise its `digest`. Nil for an empty text.
    public func headerValue(limit: Int, orDigest digest: (UnsafeRawBufferPointer) -> String) -> String? {
        guard !isEmpty else { return nil }
        return count <= limit && bytes.allSatisfy(\.isVisibleASCII) ? string : digest(bytes)
    }
}
