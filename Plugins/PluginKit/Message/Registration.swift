package import CarillonABI
import Core

/// One device, as its owner registered it; borrowed for the duration of a call. All fields are secret. Example:
/// `guard let key = registration.field("p256dh") else { throw PluginError("p256dh: expected the device's key") }`.
public struct Registration: ~Copyable {
    private let abi: carillon_registration

    package init(_ pointer: UnsafePointer<carillon_registration>) {
        abi = carillon_registration.adopt(pointer)
    }

    /// The device token or the endpoint URL.
    public var token: BorrowedText { BorrowedText(abi.token) }

    /// When the owner last registered it; the epoch: unknown.
    public var registeredAt: Timestamp { Timestamp(milliseconds: Int64(clamping: abi.registered_unix_ms)) }

    /// Returns another field of the registration such as `p256dh`, or nil.
    public func field(_ name: StaticString) -> BorrowedText? {
        field(UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
    }

    /// Returns a field whose name is known only at run time, or nil.
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

/// Text of the host, valid until the current call returns. Do not store it: store its ``string``, as in
/// `let title = notification.title.string`.
public struct BorrowedText {
    /// The bytes, which the host promises to be UTF-8.
    public let bytes: UnsafeRawBufferPointer

    package init(_ text: carillon_str) {
        bytes = UnsafeRawBufferPointer(start: text.ptr, count: text.ptr == nil ? 0 : text.len)
    }

    public var isEmpty: Bool { bytes.isEmpty }

    /// The length in bytes of UTF-8.
    public var count: Int { bytes.count }

    /// A copy; bytes that are not UTF-8 become U+FFFD.
    public var string: String { String(decoding: bytes, as: UTF8.self) }

    /// Parses a text such as ``Notification/data`` or ``Notification/sealed`` as an object; an empty text has no
    /// members. Throws if it is not an object.
    public func jsonObject() throws(JSONError) -> JSONObject {
        isEmpty ? JSONObject() : try JSONObject(parsing: bytes)
    }

    /// Compares byte for byte.
    public static func == (text: BorrowedText, other: StaticString) -> Bool {
        text.bytes.elementsEqual(UnsafeBufferPointer(start: other.utf8Start, count: other.utf8CodeUnitCount))
    }
}

extension BorrowedText {
    /// Returns the text for a header or field of up to `limit` bytes: unchanged if it fits and is printable ASCII
    /// without spaces, otherwise its `digest`. Nil for an empty text.
    public func headerValue(limit: Int, orDigest digest: (UnsafeRawBufferPointer) -> String) -> String? {
        guard !isEmpty else { return nil }
        return count <= limit && bytes.allSatisfy(\.isVisibleASCII) ? string : digest(bytes)
    }
}
