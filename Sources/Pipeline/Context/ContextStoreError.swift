/// Why there is no ``ContextStore``. Names the file.
package struct ContextStoreError: Error, CustomStringConvertible {
    private enum Code {
        case foreign
        case unusable(String)
    }

    private let code: Code
    private let path: String

    /// The file is a database, and not one of these.
    static func foreign(path: String) -> ContextStoreError {
        ContextStoreError(code: .foreign, path: path)
    }

    /// SQLite says `reason`.
    static func unusable(_ reason: String, path: String) -> ContextStoreError {
        ContextStoreError(code: .unusable(reason), path: path)
    }

    package var description: String {
        switch code {
        case .foreign:
            "\(path) is another program's database, so names and notes are not kept there: give them a file of their own"
        case .unusable(let reason):
            "names and notes cannot be kept in \(path), for \(reason): check that its folder is there and may be written"
        }
    }
}
