/// What a fake disk says.
struct DiskFailure: Error {}
