import CBrowserPages

/// The pages at the API's port: `/me/` for users, `/console/` for operators. They are the same in every installation,
/// and hold nothing that is not public; what they show comes from the API.
package enum APIPages {
    package static var all: [StaticSite] {
        [
            StaticSite(
                folder: "me",
                isAtRoot: true,
                // A remote signer (NIP-46) may be at any relay.
                files: StaticSite.File.embedded(me_page_file) { policy(for: $0, connections: "'self' wss:") }
            ),
            StaticSite(
                folder: "console",
                isAtRoot: true,
                files: StaticSite.File.embedded(console_page_file) { policy(for: $0, connections: "'self'") }
            ),
        ]
    }

    /// Nothing from elsewhere, nothing inline, and no text that becomes a script.
    private static func policy(for name: String, connections: String) -> String {
        guard name == "index.html" else { return StaticSite.File.inert }
        return StaticSite.File.inert
            + "; script-src 'self'; style-src 'self'; img-src 'self'; connect-src \(connections)"
            + "; require-trusted-types-for 'script'; trusted-types"
    }
}

extension StaticSite.File {
    /// The files of a table that are part of the program, each with its policy.
    static func embedded(
        _ table: (Int) -> UnsafePointer<browser_page_file>?,
        policy: (String) -> String
    ) -> [StaticSite.File] {
        var files: [StaticSite.File] = []
        while let file = table(files.count)?.pointee {
            let name = String(cString: file.name)
            let bytes = Array(UnsafeBufferPointer(start: file.bytes, count: file.count))
            files.append(StaticSite.File(name: name, bytes: bytes, policy: policy(name)))
        }
        return files
    }
}
