! Ranks that exchange messages by `use mpi_f08`, and say what moved as messages.c does. LARGE: an MPI of version 4, whose counts
! of 64 bits are other functions.
!
! usage: messages_f08 DIRECTORY      by MPI's launcher, in two ranks
program messages
  use mpi_f08
  implicit none
  integer :: rank, error
  type(MPI_Comm) :: line
  type(MPI_Request) :: request
  type(MPI_Status) :: status
  type(MPI_Message) :: found
  integer(8) :: memory
  double precision :: sent(100), got(100)
  character(len=256) :: folder
  interface
    integer function cuda_malloc(pointer, bytes) bind(c, name='cudaMalloc')
      integer(8) :: pointer
      integer(8), value :: bytes
    end function
  end interface

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  error = cuda_malloc(memory, 4096_8)
  if (error /= 0) call MPI_Abort(MPI_COMM_WORLD, 1)
  call get_command_argument(1, folder)
  open(unit=9, file=trim(folder)//'/said.'//achar(iachar('0') + rank))
  sent = rank
  if (rank == 0) then
    call MPI_Send(sent, 10, MPI_DOUBLE_PRECISION, 1, 5, MPI_COMM_WORLD)
    call said('send Send 80 0 1 - 5 0-1')
  else
    call MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, found, status)
    call MPI_Mrecv(got, 100, MPI_DOUBLE_PRECISION, found, status)
    call said('receive Mrecv 0 80 - 0 5 0-1')
  end if
  call MPI_Cart_create(MPI_COMM_WORLD, 1, [2], [.false.], .false., line)
  call MPI_Ineighbor_alltoall(sent, 3, MPI_INTEGER, got, 3, MPI_INTEGER, line, request)
  call said('neighbor-all-to-all Ineighbor_alltoall 12 12 - - 0 0-1')
  call waited()
#ifdef LARGE
  if (rank == 0) then
    call MPI_Send(sent, 20_MPI_COUNT_KIND, MPI_DOUBLE_PRECISION, 1, 5, MPI_COMM_WORLD)
    call said('send Send_c 160 0 1 - 5 0-1')
  else
    call MPI_Recv(got, 100_MPI_COUNT_KIND, MPI_DOUBLE_PRECISION, 0, 5, MPI_COMM_WORLD, status)
    call said('receive Recv_c 0 160 - 0 5 0-1')
  end if
  call MPI_Allreduce_init(sent, got, 5_MPI_COUNT_KIND, MPI_DOUBLE_PRECISION, MPI_SUM, line, MPI_INFO_NULL, request)
  call MPI_Start(request)
  call said('all-reduce Start 40 40 - - 1 0-1')
  call waited()
  write(9, '(i0, a)') rank, ' ends 2'
#else
  write(9, '(i0, a)') rank, ' ends 1'
#endif
  close(9)
  call MPI_Finalize()
contains
  subroutine waited()
    call MPI_Wait(request, status)
    call said('wait Wait 0 0 - - 0 ?')
  end subroutine
  subroutine said(text)
    character(len=*), intent(in) :: text
    integer :: space
    space = index(text, ' ')
    write(9, '(i0, a)') rank, ' '//text(:space)//'MPI_'//text(space + 1:)
  end subroutine
end program
