extension HTTP2Request {
    static let devicePath = "/3/device/"

    /// The part of the path that should be a device token, in lower case.
    var token: String {
        path.hasPrefix(Self.devicePath) ? path.dropFirst(Self.devicePath.count).lowercased() : ""
    }
}
