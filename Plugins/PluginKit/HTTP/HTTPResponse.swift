package import CarillonABI

/// What became of a request; borrowed for the duration of the completion.
public struct HTTPResponse: ~Copyable {
    private let abi: carillon_http_response

    /// A missing struct reads as no answer.
    package init(_ pointer: UnsafePointer<carillon_http_response>?) {
        abi = pointer.map(carillon_http_response.adopt) ?? carillon_http_response()
    }

    /// The status, or 0 when no answer arrived.
    public var status: UInt32 { abi.status }

    /// The body, as far as the request's `maxResponseBytes` let the host read it.
    public var body: BorrowedText { BorrowedText(abi.body) }

    /// Why no answer arrived, as the host says: one word that is fit to be an outcome's reason, else `no-answer`.
    public var failure: String {
        let word = BorrowedText(abi.failure)
        let fits =
            (1...40).contains(word.count)
            && word.bytes.allSatisfy { byte in
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "-")
            }
        return fits ? word.string : "no-answer"
    }

    /// The first field of that name, which is in lower case; nil when there is none.
    public func header(_ name: StaticString) -> BorrowedText? {
        guard let headers = abi.headers else { return nil }
        for header in UnsafeBufferPointer(start: headers, count: abi.header_count)
        where BorrowedText(header.name) == name {
            return BorrowedText(header.value)
        }
        return nil
    }

    /// How long `Retry-After` asks to wait (RFC 9110 section 10.2.3: seconds or a date), in milliseconds from `now`; 0
    /// when it does not ask or cannot be read.
    public func retryAfter(now: Int64) -> UInt32 {
        guard let field = header("retry-after") else { return 0 }
        return RetryAfter.milliseconds(field.string, now: now)
    }
}
