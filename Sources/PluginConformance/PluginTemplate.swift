/// The source of a new plugin in C: the example of this project under another name.
package enum PluginTemplate {
    /// The name that the example goes by.
    private static let example = "webhook"

    /// The file `<platform>.c`. Nil when no platform can be called so: expected 1 to 64 of a-z, 0-9, - and _.
    package static func source(platform: String) -> String? {
        let isName =
            (1...64).contains(platform.utf8.count)
            && platform.utf8.allSatisfy { byte in
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
            }
        guard isName else { return nil }
        let title = platform.prefix(1).uppercased() + platform.dropFirst()
        return String(decoding: PackageResources.plugin_c_txt, as: UTF8.self)
            .replacing("contrib/examples/plugins/\(example)", with: platform)
            .replacing(example.prefix(1).uppercased() + example.dropFirst(), with: title)
            .replacing(example, with: platform)
    }
}
