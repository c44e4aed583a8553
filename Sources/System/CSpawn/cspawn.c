#include "cspawn.h"
