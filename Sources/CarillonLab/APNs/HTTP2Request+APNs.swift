extension HTTP2Request {
    static let devicePath = "/3/device/"
    private static let broadcastPath = "/4/broadcasts/apps/"
    private static let channelsPath = "/1/apps/"

    /// The part of the path that should be a device token, in lower case.
    var token: String {
        path.hasPrefix(Self.devicePath) ? path.dropFirst(Self.devicePath.count).lowercased() : ""
    }

    /// The app whose channel a push goes to; nil for a push to a device.
    var bundleIDToBroadcastFor: String? {
        path.hasPrefix(Self.broadcastPath) ? String(path.dropFirst(Self.broadcastPath.count)) : nil
    }

    /// The app and the last part of a path of channel management; nil for another path.
    var channelsPath: (bundleID: String, collection: String)? {
        guard path.hasPrefix(Self.channelsPath) else { return nil }
        let parts = path.dropFirst(Self.channelsPath.count).split(separator: "/", omittingEmptySubsequences: false)
        return parts.count == 2 ? (String(parts[0]), String(parts[1])) : nil
    }

    var isAboutChannels: Bool { path.hasPrefix(Self.broadcastPath) || path.hasPrefix(Self.channelsPath) }
}
