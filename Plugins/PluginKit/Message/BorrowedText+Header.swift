extension BorrowedText {
    /// The text, for a header or field of at most `limit` bytes: as it is if it fits and consists of printable ASCII
    /// without blanks, otherwise its `digest`. Nil for an empty text.
    public func headerValue(limit: Int, orDigest digest: (UnsafeRawBufferPointer) -> String) -> String? {
        guard !isEmpty else { return nil }
        return count <= limit && bytes.allSatisfy(\.isVisibleASCII) ? string : digest(bytes)
    }
}
