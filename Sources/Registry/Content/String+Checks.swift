extension String {
    /// Whether there is no C0 or C1 control character and no DEL in it.
    var isFreeOfControls: Bool {
        unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F..<0xA0).contains($0.value) }
    }

    /// Whether it is an absolute URL of one of `schemes`, in printable ASCII, with a host. Whether that host may be
    /// reached at all is judged when a request is made.
    func isURL(of schemes: [String], limit: Int) -> Bool {
        guard utf8.count <= limit, utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            let scheme = schemes.first(where: { hasPrefix("\($0)://") })
        else { return false }
        let authority = dropFirst(scheme.count + 3).prefix { !"/?#".contains($0) }
        let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        return !host.isEmpty && !host.hasPrefix(":")
    }
}
