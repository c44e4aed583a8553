import Glibc
import Testing

@testable import CarillonRouter

struct OpenFilesTests {
    @Test func asManyFilesAsTheSystemAllowsMayBeOpen() {
        let limit = OpenFiles.raiseLimit()
        var now = rlimit()
        #expect(getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &now) == 0)
        #expect(now.rlim_cur == now.rlim_max)
        #expect(limit == Int(clamping: now.rlim_cur))
    }

    @Test(arguments: [(1_024, 512), (4_096, 2_048), (8_192, 4_096), (524_288, 520_192)])
    func usersRelaysLeaveFilesForEverythingElse(limit: Int, relays: Int) {
        #expect(OpenFiles.relays(within: limit) == relays)
    }
}
