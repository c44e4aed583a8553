package import CarillonABI

/// One device, as its owner registered it; borrowed for the duration of a call. All of it is secret.
public struct Registration: ~Copyable {
    private let abi: carillon_registration

    package init(_ pointer: UnsafePointer<carillon_registration>) {
        abi = carillon_registration.adopt(pointer)
    }

    /// The device token or the endpoint URL.
    public var token: BorrowedText { BorrowedText(abi.token) }

    /// When the owner last registered it, in milliseconds since 1970; 0: unknown.
    public var registeredAt: UInt64 { abi.registered_unix_ms }

    /// A further field of the registration such as `p256dh`, or nil.
    public func field(_ name: StaticString) -> BorrowedText? {
        guard let fields = abi.fields else { return nil }
        for field in UnsafeBufferPointer(start: fields, count: abi.field_count)
        where BorrowedText(field.name) == name {
            return BorrowedText(field.value)
        }
        return nil
    }
}
