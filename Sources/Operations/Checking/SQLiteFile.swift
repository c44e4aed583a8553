import Foundation

/// A look at a database file that does not open it, as opening would change it.
enum SQLiteFile {
    /// What is wrong with the file at `path`, to be said after its name; nil when nothing is, or when there is none yet.
    static func fault(of path: String) -> String? {
        var isFolder = ObjCBool(false)
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else { return nil }
        if isFolder.boolValue { return "is a folder; expected a file, or the name of one to be made" }
        let isOurs =
            FileManager.default.isWritableFile(atPath: path) && FileManager.default.isReadableFile(atPath: path)
        return isOurs ? nil : "cannot be read and written by this user"
    }
}
