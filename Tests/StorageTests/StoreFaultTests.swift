import GRDB
import Testing

@testable import Storage

struct StoreFaultTests {
    private func cause(_ code: ResultCode, isReadOnly: Bool) -> StoreError.Cause {
        StoreError(DatabaseError(resultCode: code), in: StoreFileTests.kind, at: "box", isReadOnly: isReadOnly).cause
    }

    @Test func readOnlyFileSystemIsReported() {
        // SQLite's error for a write to it: 778.
        #expect(cause(.SQLITE_IOERR_WRITE, isReadOnly: true) == .readOnly)
        #expect(cause(.SQLITE_IOERR_WRITE, isReadOnly: false) == .failed(778))
        #expect(cause(.SQLITE_IOERR_SHORT_READ, isReadOnly: true) == .damaged("a page is missing"))
    }
}
